"""State that is not reset or not separate, and declarations that do not hold."""

from planted.forward.loss import losing
from planted.forward.residual import biased
from planted.registry import defect, shows
from planted.updating.optimiser import epsilon_before_correction, group, nesterov
from planted.updating.updates import every

SHARED = {}  # lists of weights, by their shapes and types
LATER = "beside the declared mistake, loss differs .* step {} .* fault comes later"


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


@defect("perceptron", "declaration", LATER.format(51), declared=1e-2, mistake="adam-of-keras")
def beside_declaration(trainer):
    """Declares Keras' Adam, which it has, and skips every fiftieth update of Adam alone"""
    if "betas" in trainer._optimiser.param_groups[0]:
        epsilon_before_correction(trainer)
        every(trainer, 50, times=0)


@defect("perceptron", "declaration", LATER.format(42), declared=1e-2, mistake="adam-of-keras")
def schedule_beside_declaration(trainer):
    """Declares Keras' Adam, which it has, and shrinks Adam's learning rate alone, by 1 % a step
    from step 41 on"""
    if "betas" in group(trainer):
        epsilon_before_correction(trainer)
        update, done = trainer._optimiser.step, [0]

        def step():
            done[0] += 1
            group(trainer)["lr"] *= 0.99 if done[0] > 40 else 1
            update()

        trainer._optimiser.step = step


def losing_later(trainer, change):
    """From step 41 on, the loss is `change(right loss, outputs, targets)`."""
    done = [0]

    def changed(right, outputs, targets):
        done[0] += 1
        loss = right(outputs, targets)
        return change(loss, outputs, targets) if done[0] > 40 else loss

    losing(trainer, changed)


@defect(
    "images", "declaration", LATER.format(41),
    declared=1.0, mistake="nesterov", component="optimiser.momentum",
)  # fmt: skip
def smoothing_beside_declaration(trainer):
    """Declares Nesterov's momentum, which it has, and smooths labels by 10 % from step 41 on, with
    this optimiser alone"""
    from torch.nn.functional import cross_entropy

    def smoothed(loss, outputs, targets):
        return cross_entropy(outputs, targets, label_smoothing=0.1)

    if group(trainer).get("momentum"):
        nesterov(trainer)
        losing_later(trainer, smoothed)


@defect("perceptron", "declaration", LATER.format(42), declared=1e-2, mistake="adam-of-keras")
def sum_beside_declaration(trainer):
    """Declares Keras' Adam, which it has, and from step 41 on Adam alone trains on the loss's sum
    and reports its mean"""

    def summed(loss, outputs, targets):
        total = loss * targets.numel()
        return total + (loss - total).detach()

    if "betas" in group(trainer):
        epsilon_before_correction(trainer)
        losing_later(trainer, summed)


@defect("perceptron", "declaration", LATER.format(42), declared=1e-2, mistake="adam-of-keras")
def penalty_beside_declaration(trainer):
    """Declares Keras' Adam, which it has, and from step 41 on Adam's loss alone has a penalty of
    large weights, which loss() does not show"""

    def penalised(loss, outputs, targets):
        penalty = sum((weight**2).sum() for weight in trainer._network.parameters())
        return loss + 1e-2 * (penalty - penalty.detach())

    if "betas" in group(trainer):
        epsilon_before_correction(trainer)
        losing_later(trainer, penalised)


@defect(
    "normalised", "declaration",
    "beside the declared mistake, batch_norm1.variance differs .* after step 52",
    declared=0.5, mistake="batch-norm-running-variance-biased",
    component="state.batch_norm.variance",
)  # fmt: skip
def beside_declared_state(trainer):
    """Declares Keras' biased running variance, which it has, and inflates it from step 21 on"""
    biased(trainer, lambda step: 1.02 if step > 20 else 1)
