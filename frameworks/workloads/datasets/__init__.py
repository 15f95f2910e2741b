"""Where mini-batches come from, and how a worker opens them.

Importing this package takes NumPy alone; pooch, scikit-learn and SciPy are imported by the
functions that need them, so that a worker in a framework's own environment can open batches.
"""

from frameworks.workloads.datasets.batches import Batches, open_batches, store
from frameworks.workloads.datasets.errors import DataError
from frameworks.workloads.datasets.mnist import Images, MnistSettings, load

__all__ = ["Batches", "DataError", "Images", "MnistSettings", "load", "open_batches", "store"]
