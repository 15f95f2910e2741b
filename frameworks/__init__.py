"""The frameworks that are compared: contract, registry, devices, workloads, adapters and oracle."""
