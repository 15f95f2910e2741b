"""The probes name each planted defect, and take no other mistake for one that they know."""

from dataclasses import replace
from typing import Any

import pytest

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Weights, Workload
from frameworks.workloads.optimisers import SGD, Momentum, RMSprop
from tests.adapters.training import started
from tests.defects.catching import planted
from tests.probes.asking import CNN, MLP, SEQUENCES, answers, same
from workflows.worker.probes import QUESTIONS, normalisation, optimiser

with planted():
    from planted.registry import DEFECTS, Defect


class Planted(Adapter):
    """PyTorch's own adapter, whose trainers have one planted defect."""

    def __init__(self, defect: Defect) -> None:
        self.defect, self.sound = defect, started("pytorch", "cpu", "float32")

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Any:
        trainer: Any = self.sound.trainer(workload, weights, self.defect.base)
        trainer.workload = workload
        self.defect.plant(trainer)
        trainer._network.load(weights)
        return trainer


PROBED = {
    "mnist-cnn": CNN,
    "mlp": MLP,
    "rmsprop": replace(MLP, optimiser=RMSprop()),
    "momentum": replace(MLP, optimiser=Momentum()),
    "lstm": SEQUENCES,
}
PLANTED = [
    pytest.param(defect, workload, wanted, id=f"{defect.name}-{workload}")
    for defect in DEFECTS.values()
    for workload, wanted in defect.probes.items()
]


@pytest.mark.parametrize(("defect", "workload", "wanted"), PLANTED)
def test_planted_defects(defect: Defect, workload: str, wanted: dict[str, Setting]) -> None:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    same(answers(Planted(defect), PROBED[workload], *wanted), wanted)


def test_a_loss_that_is_none_of_the_readings_is_no_reading_by_chance() -> None:
    """That of smoothed labels is, in one step, as large as a sum over labels that are too high."""
    torch = pytest.importorskip("torch")

    class Smoothed(Planted):
        def __init__(self) -> None:
            self.sound = started("pytorch", "cpu", "float32")

        def trainer(self, workload: Workload, weights: Weights, variant: str) -> Any:
            trainer: Any = self.sound.trainer(workload, weights, "default")
            trainer._loss_function = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
            return trainer

    names = ("loss_reduction", "loss_of", "labels", "loss_taken", "put")
    same(answers(Smoothed(), CNN, *names), dict.fromkeys(names, "other"))


@pytest.mark.parametrize("published", [SGD(0.01), RMSprop()], ids=lambda value: value.kind)
@pytest.mark.parametrize("clip", ["value", "norm"])
def test_clipped_gradients_are_not_taken_for_another_epsilon(published, clip) -> None:
    torch = pytest.importorskip("torch")

    def plant(trainer: Any) -> None:
        weights = [*trainer._network.parameters()]
        how = getattr(torch.nn.utils, f"clip_grad_{clip}_")
        trainer._optimiser.register_step_pre_hook(lambda *_: how(weights, 0.5) and None)

    adapter = Planted(replace(DEFECTS["planted", "clipped-gradients"], plant=plant))
    names = ("effective_rate", "effective_epsilon", "epsilon_place")
    found = answers(adapter, replace(MLP, optimiser=published), *names)
    right = answers(adapter.sound, replace(MLP, optimiser=published), *names)
    # An optimiser that divides by the gradient's size gives a large one the same update.
    if clip == "value" and published.kind == "rmsprop":
        assert found == right
    else:
        wanted = optimiser.OF_OTHERS.split("{")[0] if clip == "norm" else optimiser.NO_CURVE
        assert all(value.startswith(wanted) for value in found.values())


def test_every_probe_has_a_defect_that_it_shows() -> None:
    shown = {
        name for defect in DEFECTS.values() for found in defect.probes.values() for name in found
    }
    assert shown == {*QUESTIONS} - {"computing_threads"} - {*normalisation.QUESTIONS}
    assert len(PLANTED) >= 30
