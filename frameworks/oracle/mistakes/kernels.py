"""Kernels with their entries in other places, loaded and read back by the same wrong rule (by
one alone, the weights before the first step are not those given)."""

from collections.abc import Callable

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.network import Array, Back
from frameworks.oracle.trainer import TruthTrainer
from frameworks.workloads import Weights

MEND = "Look at how weights are loaded and read back: canonical is {}."
DENSE = MEND.format("(in, out)")
CONVOLUTION = MEND.format("(height, width, in, out), correlated and not flipped")


class Rearranged(TruthTrainer):
    """Kernels of `dimensions` are used in another arrangement of the same shape."""

    dimensions: int

    @staticmethod
    def arrange(kernel: Array) -> Array:
        raise NotImplementedError

    def arranged(self, weights: Weights) -> Weights:
        kernels = {n: self.arrange(w) for n, w in weights.items() if w.ndim == self.dimensions}
        return weights | {n: k for n, k in kernels.items() if k.shape == weights[n].shape}

    def forward(self, x: Array) -> tuple[Array, list[Back]]:
        kept, self.parameters = self.parameters, self.arranged(self.parameters)
        try:
            return super().forward(x)
        finally:
            self.parameters = kept

    def differentiate(self, inputs: Array, targets: Array) -> tuple[float, Weights]:
        loss, gradients = super().differentiate(inputs, targets)
        places = self.arranged(
            {n: np.arange(g.size).reshape(g.shape) for n, g in gradients.items()}
        )
        for name, place in places.items():
            back = np.empty_like(gradients[name])
            back.flat[place.ravel()] = gradients[name].ravel()
            gradients[name] = back
        return loss, gradients


def rearranged(
    name: str, says: str, mend: str, dimensions: int, arrange: Callable[[Array], Array]
) -> None:
    parts = {"dimensions": dimensions, "arrange": staticmethod(arrange)}
    mistake(name, says, mend)(type("Rearranging", (Rearranged,), parts))


rearranged("dense-transposed", "has its square dense kernels transposed", DENSE,
           2, lambda k: k.T)  # fmt: skip
rearranged("dense-reshaped", "reads its dense kernels as (out, in) without transposing them",
           DENSE, 2, lambda k: k.reshape(k.shape[::-1]).T)  # fmt: skip
rearranged("dense-inputs-reversed", "has the rows of its dense kernels in reverse order", DENSE,
           2, lambda k: k[::-1])  # fmt: skip
rearranged("convolution-transposed", "has height and width of its convolution kernels swapped",
           CONVOLUTION, 4, lambda k: k.transpose(1, 0, 2, 3))  # fmt: skip
rearranged("convolution-flipped", "flips its kernels: a true convolution, not a correlation",
           CONVOLUTION, 4, lambda k: k[::-1, ::-1])  # fmt: skip
rearranged("convolution-channels-swapped",
           "has input and output channels swapped in convolutions with as many of each",
           CONVOLUTION, 4, lambda k: k.transpose(0, 1, 3, 2))  # fmt: skip
rearranged("convolution-reshaped",
           "reads its convolution kernels as (out, in, height, width) without transposing them",
           CONVOLUTION, 4, lambda k: k.reshape(k.shape[3], k.shape[2], *k.shape[:2])
           .transpose(2, 3, 1, 0))  # fmt: skip
