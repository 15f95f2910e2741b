"""Keeps freed memory in the process, for PyTorch's `tuned`.

PyTorch takes CPU tensors from malloc, and glibc returns large blocks to the system when they are
freed. Every step then pays for the same pages again. PyTorch's tuning guide recommends another
allocator for this reason; TensorFlow brings its own.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h


def keep_freed() -> None:
    """Have glibc keep freed memory until this process ends. Does nothing with another C library."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, -1)
