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


def normalising(trainer, networks=None):
    """The batch normalisations, of all or of these networks."""
    from torch.nn import BatchNorm1d, BatchNorm2d

    every = (module for own in networks or [trainer._network] for module in own.modules())
    return [module for module in every if isinstance(module, BatchNorm1d | BatchNorm2d)]


def normalised(trainer, rule):
    """Batch normalisation is `rule(x, mean, biased variance, epsilon, values of a channel)`, times
    gamma, plus beta. Running averages move as they should."""

    def forward_of(module):
        average = module.forward

        def forward(x):
            average(x)
            axes, along = [0, *range(2, x.dim())], (1, -1, *[1] * (x.dim() - 2))
            mean = x.mean(axes, keepdim=True)
            variance = (x - mean).square().mean(axes, keepdim=True)
            y = rule(x, mean, variance, module.eps, x.numel() // x.shape[1])
            return module.weight.view(along) * y + module.bias.view(along)

        return forward

    replaced(normalising(trainer), forward_of)


@defect("normalised", "loss", "look at the mini-batch, the forward pass")
def unbiased_variance(trainer):
    """A mini-batch is normalised by its unbiased variance, over n - 1"""
    normalised(
        trainer, lambda x, mean, var, eps, n: (x - mean) / (var * (n / (n - 1)) + eps).sqrt()
    )


@defect("normalised", "loss", "look at the mini-batch, the forward pass")
def epsilon_outside_the_root(trainer):
    """Batch normalisation adds epsilon to the root of the variance"""
    normalised(trainer, lambda x, mean, var, eps, n: (x - mean) / (var.sqrt() + eps))


@defect("normalised", "gradient", "the first loss is right, .* dense1.kernel is off by")
def statistics_are_constants(trainer):
    """No gradient passes through a mini-batch's mean and variance"""
    normalised(
        trainer, lambda x, mean, var, eps, n: (x - mean.detach()) / (var.detach() + eps).sqrt()
    )


@defect("normalised", "gradient", "batch_norm1.gamma is zero")
def gamma_frozen(trainer):
    """Batch normalisation's gamma is not trained"""
    for module in normalising(trainer):
        module.weight.requires_grad_(False)


@defect("normalised", "loss", "normalises by its running averages")
def running_statistics_in_training(trainer):
    """Training normalises by running averages, which it moves"""
    import torch

    def forward_of(module):
        average = module.forward

        def forward(x):
            known = module.running_mean.clone(), module.running_var.clone()
            average(x)
            return torch.nn.functional.batch_norm(
                x, *known, module.weight, module.bias, eps=module.eps
            )

        return forward

    replaced(normalising(trainer), forward_of)


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


@defect("residual", "loss", "look at the mini-batch, the forward pass")
def zeros_in_front(trainer):
    """A shortcut's zeros come in front of its channels"""
    for module in subsampling(trainer):
        module.register_forward_hook(lambda layer, inputs, output: output.roll(layer.zeros, 1))


@defect("residual", "loss", "look at the mini-batch, the forward pass")
def shortcut_not_normalised(trainer):
    """A shortcut's batch normalisation is left out"""
    shortcuts = [block.shortcut for _, block in blocks(trainer)]
    replaced(normalising(trainer, shortcuts), lambda module: lambda images: images)


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
