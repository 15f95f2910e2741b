"""How `tuned` takes memory from the system: variables that glibc reads when a process starts.

PyTorch and JAX take their arrays from malloc. glibc returns large blocks to the system when they
are freed, so that every step pays for the same pages again. PyTorch's tuning guide recommends
another allocator for this reason. Other C libraries ignore these variables.
"""

KEPT = {
    "GLIBC_TUNABLES": ":".join(
        [
            "glibc.malloc.mmap_max=0",  # no block has pages of its own
            "glibc.malloc.trim_threshold=1099511627776",  # bytes at the end that are not returned
            "glibc.malloc.hugetlb=1",  # pages of 2 MB, if the system gives them on request
        ]
    )
}
