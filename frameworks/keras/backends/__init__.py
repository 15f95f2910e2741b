"""What differs between Keras' backends: arrays in, the fence, and what can be read back. A module
for each has a class `Backend`, made of parts of the backend's own adapter beside this folder."""

from keras.src.backend.common import dtypes


def keep(precision: str) -> None:
    """Have operations on float64 give float64. On PyTorch and JAX, Keras makes float32 of it, to
    be like JAX without x64: matrix products among them, so that no float64 model would be one.
    Nothing changes where the weights are float32."""
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64" if precision == "float64" else "float32"
