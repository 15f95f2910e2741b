"""The oracle: every layer, loss and optimiser in plain float64 NumPy, and trainers that make known
mistakes. The oracle is not a contender: nothing here is timed."""

from frameworks.oracle.trainer import Float32OracleTrainer, MultipliedOut, OracleTrainer

__all__ = ["Float32OracleTrainer", "MultipliedOut", "OracleTrainer"]
