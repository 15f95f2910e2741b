"""The layers or their weights are not the workload's."""

import numpy as np

from planted.registry import defect


def loaded(trainer, into, out=lambda name, weight: weight):
    """Change weights on their way in, and on their way out."""
    network = trainer._network
    load, canonical = network.load, network.canonical
    network.load = lambda weights: load({n: into(n, w).copy() for n, w in weights.items()})
    network.canonical = lambda: {n: out(n, w).copy() for n, w in canonical().items()}


def replaced(trainer, old, new):
    """Put `new(module)` in the place of every module of this type."""
    network = trainer._network
    for index, module in enumerate(network):
        if isinstance(module, old):
            network[index] = new(module)


def square(name, weight):
    """A square dense kernel, transposed; all else as it is."""
    return weight.T if weight.ndim == 2 and len(set(weight.shape)) == 1 else weight


def turned(name, weight):
    return weight.swapaxes(0, 1) if weight.ndim == 4 else weight


def flipped(name, weight):
    return weight[::-1, ::-1] if weight.ndim == 4 else weight


@defect("perceptron", "before training", "before the first step.* of other values")
def own_initialiser(trainer):
    """Weights are drawn by the framework; the canonical ones are not loaded"""

    def load(weights):
        for module in trainer._network.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()

    trainer._network.load = load


@defect("perceptron", "before training", "dense1.bias is zero")
def zero_biases(trainer):
    """Biases start at zero, as Keras has it"""
    loaded(trainer, lambda name, weight: 0 * weight if name.endswith("bias") else weight)


@defect("perceptron", "before training", "dense1.kernel is transposed")
def kernel_transposed(trainer):
    """A square dense kernel is loaded transposed, which no shape gives away"""
    loaded(trainer, square)


@defect("perceptron", "loss", "dense kernels transposed")
def kernel_transposed_both_ways(trainer):
    """A square dense kernel is loaded transposed, and handed back transposed again"""
    loaded(trainer, square, square)


@defect("images", "loss", "height and width of its convolution kernels")
def convolution_transposed(trainer):
    """Height and width of convolution kernels are exchanged, both ways"""
    loaded(trainer, turned, turned)


@defect("images", "loss", "flips its kernels")
def convolution_flipped(trainer):
    """A true convolution: kernels are flipped, both ways"""
    loaded(trainer, flipped, flipped)


@defect("perceptron", "loss", "no bias in its dense layers")
def missing_bias(trainer):
    """Dense layers have a bias, and do not add it"""
    import torch

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda layer, inputs, output: output - layer.bias)


@defect("perceptron", "gradient", "does not train its biases")
def bias_not_trained(trainer):
    """Biases are not trained"""
    for name, weight in trainer._network.named_parameters():
        weight.requires_grad_(not name.endswith("bias"))


@defect("images", "loss", "channel by channel")
def flattened_channels_first(trainer):
    """Flatten takes channels first, and the dense kernel behind it is left as it is"""
    trainer._network.permuted = {}


@defect("perceptron", "loss", "has no ReLU")
def missing_relu(trainer):
    """The activation is left out"""
    import torch

    replaced(trainer, torch.nn.ReLU, lambda module: torch.nn.Identity())


@defect("perceptron", "loss", "leaky ReLU")
def leaky_relu(trainer):
    """A leaky ReLU for a ReLU"""
    import torch

    replaced(trainer, torch.nn.ReLU, lambda module: torch.nn.LeakyReLU())


def exchange(trainer, pool):
    """A ReLU before a pooling layer comes after it."""
    import torch

    network = trainer._network
    for index in range(1, len(network)):
        before, module = network[index - 1], network[index]
        if isinstance(before, torch.nn.ReLU) and isinstance(module, pool):
            network[index - 1], network[index] = module, before


@defect("images", "loss", "pools before the activation")
def relu_after_average(trainer):
    """The ReLU comes after the average pooling"""
    import torch

    exchange(trainer, torch.nn.AvgPool2d)


@defect("pooled", "setting", "relu_and_pool")
def relu_after_max(trainer):
    """The ReLU comes after the max pooling: the same values for a quarter of the work"""
    import torch

    exchange(trainer, torch.nn.MaxPool2d)


@defect("pooled", "loss", "average in max pooling")
def average_for_max(trainer):
    """Average pooling for max pooling"""
    import torch

    replaced(
        trainer, torch.nn.MaxPool2d, lambda pool: torch.nn.AvgPool2d(pool.kernel_size, pool.stride)
    )


@defect("images", "loss", "pads both sides alike")
def padded_alike(trainer):
    """A convolution with `same` padding and stride 2 pads both sides alike"""
    import torch

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.ZeroPad2d):
            left, right, top, bottom = module.padding
            module.padding = (max(left, right), right, max(top, bottom), bottom)


@defect("pooled", "loss", "does not pad where `same`")
def not_padded(trainer):
    """`same` padding is ignored"""
    import torch

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.ZeroPad2d):
            module.padding = (0, 0, 0, 0)
        if isinstance(module, torch.nn.Conv2d):
            module.padding = (0, 0)


@defect("perceptron", "loss", "look at the forward pass")
def dropout(trainer):
    """A dropout of 10 % behind every activation"""
    import torch

    replaced(trainer, torch.nn.ReLU, lambda relu: torch.nn.Sequential(relu, torch.nn.Dropout(0.1)))


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
