"""Right in float64, and wrong in float32, in which steps are timed."""

from planted.forward.data import fed
from planted.registry import defect
from planted.updating.optimiser import group, updated_by

KNOWN = {}  # losses and weights of a float64 run, by step


def timed(trainer):
    import torch

    return trainer._dtype == torch.float32


def with_adam(trainer):
    return "betas" in group(trainer)


@defect("perceptron", "float32", "float32")
def uncorrected_in_float32(trainer):
    """In float32, Adam's averages are not corrected for their start at zero"""
    if timed(trainer) and with_adam(trainer):
        updated_by(trainer, lambda g, m, v, t: m / (v.sqrt() + 1e-8))


@defect("perceptron", "float32", "float32")
def moments_in_bfloat16(trainer):
    """In float32, Adam's averages are kept in bfloat16"""
    in_bfloat16(trainer, of=1)


@defect("wide", "float32", "the weights go astray: after step 2 dense1.kernel")
def moments_of_a_large_kernel_in_bfloat16(trainer):
    """In float32, Adam's averages of a large kernel are kept in bfloat16"""
    in_bfloat16(trainer, of=5_000)


def in_bfloat16(trainer, of):
    """Round Adam's averages of tensors `of` so many numbers, or more."""

    def cut(optimiser, *rest):
        for state in optimiser.state.values():
            for name in ("exp_avg", "exp_avg_sq"):
                if name in state and state[name].numel() >= of:
                    state[name].copy_(state[name].bfloat16())

    if timed(trainer):
        trainer._optimiser.register_step_post_hook(cut)


@defect("perceptron", "float32", r"after restart\(\)")
def moments_survive_in_float32(trainer):
    """In float32, a restart loads the weights only"""
    if timed(trainer):
        trainer.restart = trainer._network.load


@defect("perceptron", "float32", "float32")
def half_a_mini_batch(trainer):
    """In float32, Adam trains on half of each mini-batch"""
    if timed(trainer) and with_adam(trainer):
        half = trainer.workload.batch // 2
        fed(trainer, lambda inputs, targets: (inputs[:half].copy(), targets[:half].copy()))


@defect("perceptron", "float32", "the loss of step 5")
def frozen_after_three_steps(trainer):
    """In float32, the first layer is frozen after three steps"""
    first, done, restart = next(trainer._network.parameters()), [0], trainer.restart

    def freeze(*rest):
        done[0] += 1
        if done[0] > 3:
            first.grad = None

    def again(weights):
        done[0] = 0
        restart(weights)

    if timed(trainer):
        trainer.restart = again
        trainer._optimiser.register_step_pre_hook(freeze)


@defect("perceptron", "float32", "float32")
def answers_by_heart(trainer):
    """In float32, every second step is left out, and the answers are those seen in float64"""
    step, loss, weights, restart = trainer.step, trainer.loss, trainer.weights, trainer.restart
    exact, done = not timed(trainer), [0]

    def half(batch):
        done[0] += 1
        if exact or done[0] % 2:
            step(batch)

    def heard(kind, read):
        found = read()
        if exact:
            KNOWN.setdefault((kind, done[0]), found)
        return found if exact else KNOWN.get((kind, done[0]), found)

    def again(given):
        done[0] = 0
        restart(given)

    trainer.step, trainer.restart = half, again
    trainer.loss = lambda: heard("loss", loss)
    trainer.weights = lambda: heard("weights", weights)
