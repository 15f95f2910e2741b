"""Residual blocks and batch normalisation that compute something else."""

from planted.registry import defect, replaced


def blocks(trainer):
    """The residual blocks, each with its index in the network."""
    from frameworks.pytorch.network import Sum

    return [(n, module) for n, module in enumerate(trainer._network) if isinstance(module, Sum)]


def subsampling(trainer):
    """The shortcuts without parameters."""
    from frameworks.pytorch.network import Subsampled

    return [module for module in trainer._network.modules() if isinstance(module, Subsampled)]


def normalising(trainer):
    """The batch normalisations."""
    from torch.nn import BatchNorm1d, BatchNorm2d

    kinds = BatchNorm1d | BatchNorm2d
    return [module for module in trainer._network.modules() if isinstance(module, kinds)]


@defect("residual", "loss", "ReLU before the addition")
def relu_before_addition(trainer):
    """The ReLU behind a residual block comes before the addition"""
    import torch

    for index, block in blocks(trainer):
        if isinstance(trainer._network[index + 1], torch.nn.ReLU):
            block.body.append(torch.nn.ReLU())
            trainer._network[index + 1] = torch.nn.Identity()


@defect("residual", "loss", "leaves the shortcuts out")
def missing_shortcut(trainer):
    """A residual block adds no shortcut"""
    for _, block in blocks(trainer):
        block.shortcut.register_forward_hook(lambda layer, inputs, output: 0 * output)


@defect("residual", "loss", "half of a shortcut's zeros in front")
def zeros_on_both_sides(trainer):
    """Half of a shortcut's zeros come in front of its channels, and not behind them"""
    for module in subsampling(trainer):
        half = module.zeros // 2
        module.register_forward_hook(lambda layer, inputs, output, half=half: output.roll(half, 1))


@defect("residual", "loss", "pixels from the second one on")
def from_the_second_pixel(trainer):
    """A shortcut takes every second pixel, and begins with the second one"""
    for module in subsampling(trainer):
        module.register_forward_pre_hook(lambda layer, inputs: inputs[0].roll((-1, -1), (2, 3)))


@defect("residual", "loss", "look at the mini-batch, the forward pass")
def statistics_per_sample(trainer):
    """Each sample is normalised by its own statistics, as in instance normalisation"""
    from functools import partial

    from torch.nn.functional import instance_norm

    for module in normalising(trainer):
        module.forward = partial(
            instance_norm,
            running_mean=module.running_mean,
            running_var=module.running_var,
            weight=module.weight,
            bias=module.bias,
            momentum=module.momentum,
            eps=module.eps,
        )


@defect("normalised", "loss", "epsilon of 0.001 in batch normalisation")
def batch_norm_epsilon(trainer):
    """Batch normalisation's epsilon is 1e-3, Keras' default"""
    for module in normalising(trainer):
        module.eps = 1e-3


@defect("normalised", "weights", "running average of the biased variance")
def biased_running_variance(trainer):
    """Keras' running average of the biased variance, undeclared"""
    biased(trainer, lambda step: 1)


def biased(trainer, times):
    """Running variances are averages of the biased variance, multiplied by `times(step)`."""

    def forward_of(module):
        normalise, done = module.forward, [0]

        def forward(inputs):
            before = module.running_var.clone()
            outputs = normalise(inputs)
            done[0] += 1
            kept = (1 - module.momentum) * before
            count = inputs.numel() // module.num_features
            average = (module.running_var - kept) * ((count - 1) / count)
            module.running_var.data.copy_((kept + average) * times(done[0]))
            return outputs

        return forward

    replaced(normalising(trainer), forward_of)
