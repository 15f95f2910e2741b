"""Layers that are not the workload's, or in another order."""

from planted.registry import defect, shows


def replaced(trainer, old, new):
    """Put `new(module)` in the place of every module of this type."""
    network = trainer._network
    for index, module in enumerate(network):
        if isinstance(module, old):
            network[index] = new(module)


@defect("perceptron", "loss", "adds no bias")
def missing_bias(trainer):
    """Dense layers have a bias, and do not add it"""
    import torch

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda layer, inputs, output: output - layer.bias)


@defect("perceptron", "gradient", "dense1.bias is zero, dense2.bias is zero")
def bias_not_trained(trainer):
    """Biases are not trained"""
    for name, weight in trainer._network.named_parameters():
        weight.requires_grad_(not name.endswith("bias"))


@defect("perceptron", "loss", "has no activations")
def missing_relu(trainer):
    """The activation is left out"""
    import torch

    replaced(trainer, torch.nn.ReLU, lambda module: torch.nn.Identity())


@defect("perceptron", "loss", "look at the mini-batch, the forward pass")
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


@defect("images", "loss", "look at the mini-batch, the forward pass")
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


@shows("mnist-cnn", same_padding="both sides", convolution_products="float32")
@defect("images", "loss", "pads both sides alike")
def padded_alike(trainer):
    """A convolution with `same` padding and stride 2 pads both sides alike"""
    import torch

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.ZeroPad2d):
            left, right, top, bottom = module.padding
            module.padding = (max(left, right), right, max(top, bottom), bottom)


@defect("images", "loss", "odd row of `same` padding at the top")
def padded_at_the_top(trainer):
    """The odd row of `same` padding is at the top and left"""
    import torch

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.ZeroPad2d):
            left, right, top, bottom = module.padding
            module.padding = right, left, bottom, top


@defect("pooled", "loss", "look at the mini-batch, the forward pass")
def not_padded(trainer):
    """`same` padding is ignored"""
    import torch

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.ZeroPad2d):
            module.padding = (0, 0, 0, 0)
        if isinstance(module, torch.nn.Conv2d):
            module.padding = (0, 0)


@defect("perceptron", "loss", "look at the mini-batch, the forward pass")
def dropout(trainer):
    """A dropout of 10 % behind every activation"""
    import torch

    replaced(trainer, torch.nn.ReLU, lambda relu: torch.nn.Sequential(relu, torch.nn.Dropout(0.1)))
