"""The catalogue of mistakes that frameworks and their adapters really make.

Each module adds the mistakes of its subject. A mistake that is not listed here has no name, but
`workflows.certify.divergence` still finds the first difference.
"""

from frameworks.oracle.mistakes import network, optimisers, residual, sequences, training  # noqa: F401
from frameworks.oracle.mistakes.mistake import CATALOGUE, Mistake

__all__ = ["CATALOGUE", "Mistake"]
