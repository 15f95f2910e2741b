"""A Keras model, compiled and trained by train_on_batch, as users train mini-batch by
mini-batch."""

from typing import Any

import keras
import numpy as np

from frameworks import reading
from frameworks.contract import Setting, Trainer
from frameworks.tensorflow import keras_model
from frameworks.workloads import Weights, Workload

Batch = tuple[Any, Any]
PADDING = (keras.layers.ZeroPadding2D, keras.layers.Lambda)
LAYOUTS = {"channels_last": "NHWC", "channels_first": "NCHW"}


class KerasTrainer(Trainer):
    def __init__(self, workload: Workload, weights: Weights, backend: Any, precision: str) -> None:
        self._workload, self._backend, self._dtype = workload, backend, precision
        self._labels = backend.labels if workload.loss == "sparse_cross_entropy" else precision
        self._inputs = backend.labels if workload.dataset.words else precision
        with keras_model.floatx(precision):  # the type in which Keras adds losses
            self._model = keras_model.network(workload, precision)
            self._tensors = keras_model.tensors(self._model, workload)
            trained = self._model.trainable_variables
            self._optimiser = keras_model.optimiser(workload.optimiser, precision, trained)
            self._model.compile(self._optimiser, keras_model.loss(workload, precision))
        self._loss: float | None = None
        self._load(weights)

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        tensor = self._backend.tensor
        return tensor(inputs, self._inputs), tensor(targets, self._labels)

    def step(self, batch: Batch) -> None:
        self._loss = self._model.train_on_batch(*batch, return_dict=True)["loss"]

    def synchronise(self) -> None:
        self._backend.synchronise(self._model)

    def loss(self) -> float:
        assert self._loss is not None, "no step taken yet"
        return float(self._loss)

    def weights(self) -> Weights:
        pairs = zip(self._workload.tensor_shapes, self._tensors, strict=True)
        return {name: np.array(keras.ops.convert_to_numpy(value)) for name, value in pairs}

    def restart(self, weights: Weights) -> None:
        self._load(weights)
        for variable in keras_model.state(self._optimiser):
            variable.assign(np.zeros(variable.shape, variable.dtype))
        self._loss = None

    def _load(self, weights: Weights) -> None:
        for name, variable in zip(self._workload.tensor_shapes, self._tensors, strict=True):
            variable.assign(weights[name].astype(self._dtype))

    def settings(self) -> dict[str, Setting]:
        batch = KerasTrainer.put(self, *self._workload.zeros())
        return {
            **self._backend.settings(self._model, batch),
            "layout": layout(self._model),
            "mode": "n/a",  # an argument of each call
            "relu_and_pool": relu_and_pool(self._model),
            **keras_model.settings(self._optimiser),
        }


def layout(model: Any) -> str:
    """The layout that Keras' layers are given; Keras may pass another one to its backend."""
    spatial = [x for x in model.layers if hasattr(x, "kernel_size") or hasattr(x, "pool_size")]
    return reading.every(LAYOUTS[layer.data_format] for layer in spatial)


def relu_and_pool(model: Any) -> str:
    return reading.relu_and_pool(
        "pool" if hasattr(layer, "pool_size")
        else "relu" if getattr(layer, "activation", None) is keras.activations.relu else ""
        for layer in model.layers
        if not isinstance(layer, PADDING)
    )  # fmt: skip
