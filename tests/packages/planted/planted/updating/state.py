"""State that is not reset or not separate, and declarations that do not hold."""

from planted.registry import defect, shows
from planted.updating.optimiser import epsilon_before_correction
from planted.updating.updates import every

SHARED = {}  # lists of weights, by their shapes and types


@defect("images", "restart", r"until restart\(\), and departs at step 1")
def restart_keeps_weights(trainer):
    """restart forgets the optimiser's state only"""

    def restart(weights):
        trainer._optimiser.state.clear()

    trainer.restart = restart


@shows("mlp", restart="remembers")
@defect("perceptron", "restart", "optimiser's state at a restart")
def restart_keeps_optimiser(trainer):
    """restart loads the weights only, and the optimiser goes on where it was"""
    trainer.restart = trainer._network.load


@defect("images", "new trainer", "do trainers share state")
def shared_between_trainers(trainer):
    """All trainers of a process share one network: only the first starts from the weights given"""
    mine = list(trainer._network.parameters())
    kind = tuple((weight.shape, weight.dtype) for weight in mine)
    first = SHARED.setdefault(kind, mine)
    if first is not mine:
        trainer._network.load = lambda weights: None
        for weight, shared in zip(mine, first, strict=True):
            weight.data = shared.data


@defect("perceptron", "declaration", "more than declared", declared=1e-9)
def more_than_declared(trainer):
    """Declares another epsilon, and has a larger one than declared"""
    if "betas" in trainer._optimiser.param_groups[0]:
        trainer._optimiser.param_groups[0]["eps"] = 1e-4


@defect("perceptron", "declaration", "with plain SGD .* step 21", declared=1.0)
def hidden_behind_declaration(trainer):
    """Declares another epsilon, and also skips every twentieth update"""
    every(trainer, 20, times=0)


@defect(
    "perceptron", "declaration",
    "beside the declared mistake, loss differs .* step 51 .* fault comes later",
    declared=1e-2, mistake="adam-of-keras",
)  # fmt: skip
def beside_declaration(trainer):
    """Declares Keras' Adam, which it has, and skips every fiftieth update of Adam alone"""
    if "betas" in trainer._optimiser.param_groups[0]:
        epsilon_before_correction(trainer)
        every(trainer, 50, times=0)


@defect(
    "normalised", "declaration",
    "beside the declared mistake, batch_norm1.variance differs .* after step 52",
    declared=0.5, mistake="batch-norm-running-variance-biased",
    component="state.batch_norm.variance",
)  # fmt: skip
def beside_declared_state(trainer):
    """Declares Keras' biased running variance, which it has, and inflates it from step 21 on"""
    import torch

    def plant(module):
        normalise, done = module.forward, [0]

        def forward(inputs):
            before = module.running_var.clone()
            outputs = normalise(inputs)
            done[0] += 1
            kept = (1 - module.momentum) * before
            count = inputs.numel() // module.num_features
            biased = (module.running_var - kept) * ((count - 1) / count)
            module.running_var.data.copy_((kept + biased) * (1.02 if done[0] > 20 else 1))
            return outputs

        module.forward = forward

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d):
            plant(module)
