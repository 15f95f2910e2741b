"""Updates that do not happen as they should, whatever the optimiser."""

from typing import Any

from planted.registry import defect, shows
from planted.updating.optimiser import group


@defect("perceptron", "weights", "the update is not, first at step 2")
def schedule(trainer):
    """A schedule left on: the learning rate shrinks by 1 % a step"""

    def shrink(optimiser, *rest):
        group(trainer)["lr"] *= 0.99

    trainer._optimiser.register_step_post_hook(shrink)


@shows(
    "mlp",
    effective_epsilon="unknown: it depends on other weights' gradients, too; "
    "the smallest moved by 2.2e-11",
)
@defect("images", "weights", "what changes gradients before the update")
def clipped_gradients(trainer):
    """Gradients clipped to a norm of 0.5"""
    from torch.nn.utils import clip_grad_norm_

    weights = list(trainer._network.parameters())
    trainer._optimiser.register_step_pre_hook(lambda *_: clip_grad_norm_(weights, 0.5) and None)


@shows("mnist-cnn", gradients="accumulated")
@shows("mlp", gradients="accumulated")
@defect("images", "weights", "zero_grad")
def stale_gradients(trainer):
    """Gradients are never zeroed, and add up"""
    trainer._optimiser.zero_grad = lambda: None


def every(trainer: Any, count: int, times: int) -> None:
    """Every `count`-th update is done `times` times."""
    update, done = trainer._optimiser.step, [0]

    def step() -> None:
        done[0] += 1
        for _ in range(1 if done[0] % count else times):
            update()

    trainer._optimiser.step = step


@shows("mnist-cnn", gradients="unused")
@defect("perceptron", "weights", "weights move only at 1, 3, 5, 7 and 2 more of 12 steps")
def every_second_update_skipped(trainer):
    """Every second update is skipped"""
    every(trainer, 2, times=0)


@defect("perceptron", "loss", "at step 51")
def every_fiftieth_update_skipped(trainer):
    """Every fiftieth update is skipped: an accumulation that overruns"""
    every(trainer, 50, times=0)


@defect("images", "gradient", "every tensor is 2 times the right one")
def updated_twice(trainer):
    """Every update is applied twice"""
    every(trainer, 1, times=2)
