"""Whether freed memory stays in the process.

PyTorch takes CPU tensors straight from malloc, and glibc gives large ones back to the system
when they are freed: every step then pays for the same pages again. PyTorch's tuning guide
recommends another allocator for this reason; TensorFlow brings its own.
"""

import ctypes
import resource
import sys

import torch

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
BYTES = 1 << 26


def keep_freed() -> None:
    """Tell glibc to keep what is freed, for the rest of this process. Nothing happens where
    the C library is another one."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, -1)


def freed() -> str:
    """`kept`, if a block freed and taken again comes to cost no page faults; else `returned`."""
    # Ever smaller, since what is taken in between may have nibbled at the block.
    fewest = min(faults(BYTES - (try_ << 16)) for try_ in range(8))
    return "kept" if fewest < BYTES >> 22 else "returned"  # half of what huge pages would cost


def faults(size: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.zeros(size, dtype=torch.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
