"""How far apart two results are."""

from typing import Any

import numpy as np


def relative(value: Any, reference: Any) -> float:
    """L2 distance over the reference's L2 norm; infinite if shapes differ or a value is
    not finite, so that NaN never agrees with anything."""
    if np.shape(value) != np.shape(reference):
        return float("inf")
    distance = float(np.linalg.norm(np.subtract(value, reference)))
    norm = float(np.linalg.norm(reference))
    if not np.isfinite(distance):
        return float("inf")
    return 0.0 if distance == 0 else distance / norm if norm else float("inf")
