"""Weights that change when they are loaded or read back."""

import numpy as np

from planted.registry import defect, shows


def loaded(trainer, into, out=lambda name, weight: weight):
    """Change weights on their way in, and on their way out."""
    network = trainer._network
    load, canonical = network.load, network.canonical
    network.load = lambda weights: load({n: into(n, w).copy() for n, w in weights.items()})
    network.canonical = lambda: {n: out(n, w).copy() for n, w in canonical().items()}


def square(name, weight):
    """The transpose of a square dense kernel; any other tensor unchanged."""
    return weight.T if weight.ndim == 2 and len(set(weight.shape)) == 1 else weight


def turned(name, weight):
    return weight.swapaxes(0, 1) if weight.ndim == 4 else weight


def flipped(name, weight):
    return weight[::-1, ::-1] if weight.ndim == 4 else weight


@shows("mnist-cnn", initial_weights="own")
@defect("perceptron", "before training", "before the first step.* of other values")
def own_initialiser(trainer):
    """Weights are drawn by the framework; the canonical ones are not loaded"""

    def load(weights):
        for module in trainer._network.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()

    trainer._network.load = load


@shows("mnist-cnn", initial_weights="rounded")
@defect("perceptron", "before training", "before the first step.* of other values")
def rounded_to_bfloat16(trainer):
    """The initial weights go through bfloat16"""
    cut = np.uint32(0xFFFF0000)
    loaded(trainer, lambda name, weight: (weight.copy().view(np.uint32) & cut).view(np.float32))


@defect("perceptron", "before training", "dense1.bias is zero")
def zero_biases(trainer):
    """Biases start at zero, as Keras has it"""
    loaded(trainer, lambda name, weight: 0 * weight if name.endswith("bias") else weight)


@defect("perceptron", "before training", "dense1.kernel is transposed")
def kernel_transposed(trainer):
    """A square dense kernel is loaded transposed, which no shape shows"""
    loaded(trainer, square)


@defect("perceptron", "loss", "dense kernels transposed")
def kernel_transposed_both_ways(trainer):
    """A square dense kernel is loaded transposed, and handed back transposed again"""
    loaded(trainer, square, square)


@shows("mnist-cnn", same_padding="bottom and right, kernel transposed")
@defect("images", "loss", "height and width of its convolution kernels")
def convolution_transposed(trainer):
    """Height and width of convolution kernels are exchanged, both ways"""
    loaded(trainer, turned, turned)


@shows("mnist-cnn", same_padding="bottom and right, kernel turned round")
@defect("images", "loss", "flips its kernels")
def convolution_flipped(trainer):
    """A true convolution: kernels are flipped, both ways"""
    loaded(trainer, flipped, flipped)


@defect("images", "loss", "channel by channel")
def flattened_channels_first(trainer):
    """Flatten takes channels first, and the dense kernel behind it is left as it is"""
    trainer._network.permuted = {}


@defect("perceptron", "names and shapes", "0.bias, which the workload has not")
def own_names(trainer):
    """weights() uses the framework's own names"""
    trainer.weights = lambda: {
        name: weight.detach().numpy() for name, weight in trainer._network.named_parameters()
    }


@defect("images", "names and shapes", r"conv2d1.kernel as \(3, 2, 3, 3\)")
def own_layout(trainer):
    """weights() hands out convolution kernels in the framework's own layout"""
    canonical = trainer._network.canonical
    trainer._network.canonical = lambda: {
        name: np.transpose(weight, (3, 2, 0, 1)) if weight.ndim == 4 else weight
        for name, weight in canonical().items()
    }


@defect("images", "copies", "goes on changing: give copies")
def weights_not_copied(trainer):
    """weights() hands out views, which training goes on changing"""
    canonical = trainer._network.canonical
    kept = {}

    def views():
        for name, weight in canonical().items():
            kept.setdefault(name, weight)[...] = weight
        return dict(kept)

    trainer._network.canonical = views


@defect("images", "weights", r"weights\(\) does not")
def averaged_weights(trainer):
    """weights() hands out a running average of the weights"""
    canonical, averages, step = trainer._network.canonical, {}, trainer.step

    def averaged(batch):
        step(batch)
        for name, weight in canonical().items():
            averages[name] = 0.99 * averages.get(name, weight) + 0.01 * weight

    trainer.step = averaged
    trainer.weights = lambda: averages or canonical()
