"""Makes the mini-batches of a data set, and opens them in a worker.

Importing this package needs only NumPy, so that a worker in a framework's own environment can
open mini-batches. The functions that need pooch, scikit-learn or SciPy import them.
"""

from frameworks.workloads.datasets.batches import Batches, DataError, open_batches, store
from frameworks.workloads.datasets.mnist import Images, MnistSettings, load

__all__ = ["Batches", "DataError", "Images", "MnistSettings", "load", "open_batches", "store"]
