"""How variants take memory from the system: variables that glibc reads when a process starts.

PyTorch and JAX take their arrays from malloc. glibc returns large blocks to the system when they
are freed, so that every step pays for the same pages again. PyTorch's tuning guide recommends
another allocator for this reason. Other C libraries ignore these variables.
"""

from typing import Any

from frameworks.description import Variant

FREED_KEPT = {
    "GLIBC_TUNABLES": ":".join(
        [
            "glibc.malloc.mmap_max=0",  # no block has pages of its own
            "glibc.malloc.trim_threshold=1099511627776",  # bytes at the end that are not returned
        ]
    )
}
# Also pages of 2 MB, if the system gives them on request.
KEPT = {"GLIBC_TUNABLES": FREED_KEPT["GLIBC_TUNABLES"] + ":glibc.malloc.hugetlb=1"}


def steps(**options: Any) -> dict[str, Variant]:
    """The first two steps from `default` to `tuned`, which change no line of an adapter."""
    return {
        "memory": Variant(
            "default; freed memory kept",
            change="freed memory kept",
            variables=FREED_KEPT,
            **options,
        ),
        "pages": Variant(
            "memory, in huge pages",
            change="huge pages",
            compared_with="memory",
            variables=KEPT,
            **options,
        ),
    }
