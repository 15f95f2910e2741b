"""Who is compared, and on what: the contract, the registry, the workloads and the adapters."""
