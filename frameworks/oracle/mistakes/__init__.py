"""The catalogue of known mistakes, by theme. Importing a theme enters its mistakes."""

from frameworks.oracle.mistakes import (  # noqa: F401
    data,
    gradients,
    kernels,
    layers,
    losses,
    numbers,
    precision,
    state,
    steps,
    updates,
)
from frameworks.oracle.mistakes.mistake import CATALOGUE, Mistake

__all__ = ["CATALOGUE", "Mistake"]
