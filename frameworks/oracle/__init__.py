"""The whole vocabulary once more in plain float64 NumPy: what is right, and what known
mistakes make of it. Not a contender: nothing here is ever timed."""

from frameworks.oracle.trainer import TruthTrainer

__all__ = ["TruthTrainer"]
