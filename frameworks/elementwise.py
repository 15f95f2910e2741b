"""Single operations: what their trainers have in common in every framework.

An operation has nothing to train. Its result stands where a network has its weights, so that
certificates, the probe of the fence and the check of timed turns read it like these. An adapter
performs an operation as its user would write it, one call each.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from frameworks.contract import Conditions, Trainer, Unavailable
from frameworks.workloads import Weights, Workload

Operations = Mapping[str, Callable[[Any, Any], Any]]
VARIANTS = ("default", "memory", "pages")  # all others change a network


class ElementwiseTrainer(Trainer):
    """`operations` are functions of both vectors, by kind."""

    operations: ClassVar[Operations]
    _result: Any

    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        operation = workload.elementwise
        if not operation or operation.kind not in self.operations:
            raise NotImplementedError(f"no operation of the kinds {', '.join(self.operations)}")
        if variant not in VARIANTS:
            raise Unavailable(f"does not apply to a single operation: {variant} is about networks")
        if conditions.precision != "float32":
            raise Unavailable("single operations are in float32")
        self._operation, self._repeat = self.operations[operation.kind], operation.repeat
        (self._name,) = workload.state_shapes
        self.restart(weights)

    @abstractmethod
    def on_host(self, result: Any) -> np.ndarray:
        """The numbers of a result, perhaps in the same memory."""

    def step(self, batch: Any) -> None:
        for _ in range(self._repeat):
            self._result = self._operation(*batch)

    def loss(self) -> float:
        """A checksum: the mean of the last result."""
        return float(self._array().mean(dtype=np.float64))

    def weights(self) -> Weights:
        return {self._name: self._array().copy()}

    def restart(self, weights: Weights) -> None:
        self._result = None
        self._given = weights[self._name]

    def _array(self) -> np.ndarray:
        if self._result is None:
            return self._given
        return self.on_host(self._result).reshape(self._given.shape)
