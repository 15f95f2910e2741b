"""Random networks agree everywhere: in float64, each of four losses and every tensor of the
weights after the fourth step, to 1e-12 relative (L2), plain NumPy's among them.

Arithmetic alone can exceed that where a workload amplifies rounding: RMSprop and Adam divide a
gradient that cancels to nothing by `sqrt(v) + 1e-8`, and a single weight or a loss may end close
to zero. So what is further apart is held against the reference's own answer to rounding: it is
trained again from weights shaken by up to `SHAKE`, a few units in the last place, and `ROUNDINGS`
times as far as it then moves is allowed. Where 1e-12 is met, nothing is shaken.

Always the same networks: three in `make test`, thirty in `make test-all`. For a long hunt
among others:
`RANDOM_NETWORKS=5000 pytest tests/adapters/test_random_networks.py --hypothesis-seed=7`
"""

import os
import sys
from collections.abc import Collection
from dataclasses import replace
from functools import cache, lru_cache
from itertools import count

import numpy as np
import pytest
import yaml
from hypothesis import Phase, given, settings

from benchmarks.alarms.networks import workloads
from frameworks.contract import Trainer
from frameworks.oracle import OracleTrainer
from frameworks.registry import framework, names
from frameworks.workloads import Workload, initial_weights, load, to_dict
from frameworks.workloads.distance import relative
from frameworks.workloads.layers import Conv2D, Dense
from frameworks.workloads.optimisers import SGD
from tests.adapters.training import AGREE, REFERENCE, Contender, started, train
from workflows.records.schema import UNCOMPARED

STEPS = 4
SHAKE, SHAKES, ROUNDINGS = 4 * np.finfo(float).eps, 4, 32

HUNT = os.environ.get("RANDOM_NETWORKS")
RANDOM = settings(
    derandomize=not HUNT, database=None, deadline=None, print_blob=True, report_multiple_bugs=False
)
tried = count(1)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize(
    "networks", [pytest.param(3, marks=pytest.mark.brief), pytest.param(30, marks=pytest.mark.all)]
)
def test_random_networks(device: str, networks: int) -> None:
    contenders = installed(device)

    @settings(RANDOM, max_examples=int(HUNT or networks))
    @given(workload=workloads())
    def agree(workload: Workload) -> None:
        require_agreement(workload, contenders)
        if next(tried) % 100 == 0:
            forget_graphs()

    agree()


class PaddedAtTheTop(Contender):
    """The odd row of `same` padding where PyTorch's users are likely to put it."""

    def trainer(self, *arguments, **named) -> Trainer:
        pads = Conv2D.pads
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Conv2D, "pads", lambda *given: tuple(p[::-1] for p in pads(*given)))
            return super().trainer(*arguments, **named)


class RoundedRate(Contender):
    """The learning rate in float32."""

    def trainer(self, workload: Workload, **named) -> Trainer:
        optimiser = workload.optimiser
        rounded = float(np.float32(optimiser.learning_rate))
        optimiser = replace(optimiser, learning_rate=rounded)
        return super().trainer(replace(workload, optimiser=optimiser), **named)


@pytest.mark.parametrize(
    ("wrong", "layers", "named"),
    [
        pytest.param(PaddedAtTheTop, {Conv2D}, "loss at step 1", marks=pytest.mark.all),
        (RoundedRate, {Dense}, "dense1.kernel after step 4"),
    ],
)
def test_counterexample_is_small(wrong: type[Contender], layers: set[type], named: str) -> None:
    phases = [Phase.generate, Phase.shrink]  # not `explain`, which takes longest

    @settings(RANDOM, derandomize=True, max_examples=200, phases=phases)
    @given(workload=workloads())
    def agree(workload: Workload) -> None:
        require_agreement(workload, [wrong("pytorch", "tuned")])

    with pytest.raises(AssertionError, match=f"pytorch-tuned-cpu: {named}") as failure:
        agree()
    _, _, text = str(failure.value).partition("\non\n")
    ((name, entry),) = yaml.safe_load(text)["workloads"].items()
    found = load(name, entry)
    trained = (Dense, Conv2D)
    assert {type(layer) for layer in found.layers if isinstance(layer, trained)} == layers
    assert len(found.layers) <= 2
    assert np.prod(found.dataset.shape) <= 2


@cache
def installed(device: str) -> list[Contender]:
    """Every variant of every framework that is installed and has such a device."""
    found = []
    for name in sorted({*names()} - {*UNCOMPARED, "numpy"}):  # NumPy's adapter has no networks
        try:
            started(name, device, "float64")
        except pytest.skip.Exception:
            continue
        # Of the opt-in ones, those that trace no more than the others.
        matched = [n for n in framework(name).variants if n in ("default", "tuned", "eager")]
        found += [Contender(name, variant, device) for variant in matched]
    if not found:
        pytest.skip(f"no framework has a {device} here")
    return found


def forget_graphs() -> None:
    """Keras keeps what it traced, 0.6 MB a network, and is slow to let go of it."""
    if "keras" in sys.modules:
        sys.modules["keras"].backend.clear_session()


def require_agreement(workload: Workload, contenders: list[Contender]) -> None:
    truth = OracleTrainer(workload, initial_weights(workload, 1))
    found = disagreements("NumPy", trained(truth, workload, workload.idle), workload)
    for contender in contenders:
        own = workload
        if contender.deviates(workload):
            own = replace(workload, optimiser=SGD(workload.optimiser.learning_rate))
        values = trained(contender.trainer(own), own, contender.aside(own))
        found += disagreements("-".join(contender), values, own)
    if found:  # `assert` would have pytest add to the message
        raise AssertionError("\n".join([*found, "on", entry(workload)]))


Values = dict[str, np.ndarray]


def trained(trainer: Trainer, workload: Workload, aside: Collection[str] = ()) -> Values:
    """Losses and final weights but for those `aside`, by what they are called in a message."""
    losses = enumerate(train(trainer, workload, STEPS), 1)
    return {f"loss at step {step}": loss for step, loss in losses} | {
        f"{name} after step {STEPS}": weight
        for name, weight in trainer.weights().items()
        if name not in aside
    }


@lru_cache(maxsize=2)
def reference(workload: Workload) -> Values:
    return trained(REFERENCE.trainer(workload), workload)


def disagreements(who: str, found: Values, workload: Workload) -> list[str]:
    """A line for each value that is further from the reference's than rounding explains."""
    true = reference(workload)
    far = {name: relative(value, true[name]) for name, value in found.items()}
    far = {name: distance for name, distance in far.items() if not distance <= AGREE}
    allowed = rounding(workload) if far else {}
    return [
        f"{who}: {name} is {distance:.1e} from {'-'.join(REFERENCE)}'s (allowed "
        f"{allowed[name]:.0e}; optimiser {workload.optimiser.kind})"
        for name, distance in far.items()
        if not distance <= allowed[name] < np.inf
    ]


def rounding(workload: Workload) -> dict[str, float]:
    """How far apart what is called so may be for rounding's sake, relative."""
    random, true = np.random.default_rng(0), reference(workload)
    moved = dict.fromkeys(true, AGREE / ROUNDINGS)
    for _ in range(SHAKES):
        shaken = {
            name: weight * (1 + random.uniform(-SHAKE, SHAKE, weight.shape))
            for name, weight in initial_weights(workload, 1).items()
        }
        for name, value in trained(REFERENCE.trainer(workload, weights=shaken), workload).items():
            moved[name] = max(moved[name], relative(value, true[name]))
    return {name: ROUNDINGS * distance for name, distance in moved.items()}


def entry(workload: Workload) -> str:
    """As it can be pasted into a configuration."""
    description = to_dict(workload)
    named = {"workloads": {description.pop("name"): description}}
    return yaml.safe_dump(named, sort_keys=False, default_flow_style=None)
