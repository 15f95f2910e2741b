"""The vocabulary's forward pass and the published optimisers once more, in plain NumPy."""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from frameworks.workloads import Weights, Workload, layers
from frameworks.workloads.optimisers import SGD, Adam, Momentum, Optimiser, RMSprop


def loss(workload: Workload, weights: Weights, inputs: np.ndarray, targets: np.ndarray) -> float:
    x = inputs.astype(np.float64)
    for name, layer, shape, _ in workload.stages:
        kernel, bias = weights.get(f"{name}.kernel"), weights.get(f"{name}.bias")
        match layer:
            case layers.Dense():
                x = x @ kernel + bias
            case layers.Conv2D(_, size, stride):
                x = np.pad(x, ((0, 0), *layer.pads(shape), (0, 0)))
                x = np.einsum("nhwckl,klcf->nhwf", patches(x, size, stride), kernel) + bias
            case layers.MaxPool(size):
                x = patches(x, size, layer.step).max(axis=(4, 5))
            case layers.AveragePool(size):
                x = patches(x, size, layer.step).mean(axis=(4, 5))
            case layers.GlobalAveragePool():
                x = x.mean(axis=(1, 2))
            case layers.Flatten():
                x = x.reshape(len(x), -1)
            case layers.ReLU():
                x = np.maximum(x, 0)
            case layers.Tanh():
                x = np.tanh(x)
            case layers.Sigmoid():
                x = 1 / (1 + np.exp(-x))
    if workload.loss == "mean_squared_error":
        return float(np.mean((x - targets) ** 2))
    x = x - x.max(axis=1, keepdims=True)
    chosen = np.take_along_axis(x, targets[:, None], axis=1)[:, 0]
    return float(np.mean(np.log(np.exp(x).sum(axis=1)) - chosen))


def patches(images: np.ndarray, size: int, stride: int) -> np.ndarray:
    """`(batch, rows, columns, channels, size, size)`."""
    return sliding_window_view(images, (size, size), axis=(1, 2))[:, ::stride, ::stride]


def updates(optimiser: Optimiser, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """A generator that is sent gradients and yields what to subtract from the weight."""
    rate = optimiser.learning_rate
    b, m, v, t = np.zeros(shape), np.zeros(shape), np.zeros(shape), 0
    step = np.zeros(shape)
    while True:
        g = yield step
        t += 1
        match optimiser:
            case SGD():
                step = rate * g
            case Momentum(_, momentum):
                b = momentum * b + g
                step = rate * b
            case RMSprop(_, decay, epsilon):
                v = decay * v + (1 - decay) * g**2
                step = rate * g / (np.sqrt(v) + epsilon)
            case Adam(_, beta1, beta2, epsilon):
                m = beta1 * m + (1 - beta1) * g
                v = beta2 * v + (1 - beta2) * g**2
                m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
                step = rate * m_hat / (np.sqrt(v_hat) + epsilon)
