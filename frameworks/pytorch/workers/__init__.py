"""Two workers of one thread each: `default` under PyTorch's DistributedDataParallel."""
