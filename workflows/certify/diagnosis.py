"""Diagnosis by reproduction: which known mistake does a contender make?

The contender's adapter trains a miniature of the workload. The oracle trains the same miniature,
once right and once with each mistake of the catalogue. A mistake is the cause if its losses and
weights equal the contender's, and the right ones do not. If no mistake reproduces the
contender, the diagnosis says where its run first differs from the right one.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from frameworks.contract import Deviation, Unavailable
from frameworks.oracle import Float32OracleTrainer, OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE, Mistake
from frameworks.workloads import Weights, Workload, WorkloadError, to_dict
from frameworks.workloads.smaller import miniature
from workflows.certify.divergence import distance, divergence, listed
from workflows.certify.judge import MORE, NotComparable, require_shapes
from workflows.certify.second_look import FEWEST, drifted, shaken
from workflows.records.thresholds import FINER, LOST, REPRODUCES, TOLERANCE, WORST
from workflows.worker.answers import line
from workflows.worker.process import WorkerDied, WorkerProcess, left_by_a_worker
from workflows.worker.recorded_run import STEPS, Moment, RecordedRun, Script, moments, perform

CLOSER = 1e-2  # how much closer than the right run, at least
ROUNDING = 1e-13  # runs that are closer than this cannot be distinguished
NAMED = 3
VAST = 1e100  # squares of such numbers may overflow, depending on the order of sums
NOTHING: Mapping[str, Deviation] = {}
STILL: Mapping[str, float] = {}  # no idle bias that is off

ALL_WELL = (
    f"a miniature of it agrees with plain NumPy in all its {STEPS} steps: look at what only size "
    "or time brings, or at the reference"
)
ONLY = f"a miniature of it shows only the declared mistake in all its {STEPS} steps"
AT_SIZE = f"{ONLY}: look at what only size or time brings"
AS_DECLARED = f"{ONLY}, so the fault comes later: look at what only size or time brings"
IN_FLOAT32 = f"{ONLY}; a difference this small may be a number in float32, such as a decay"
ENOUGH = "declare a {0}_within of at least what the {0} is off, such as twice that"
SEEN = re.compile(r"differs by (\S+) .* step (\d+)")  # in a reason
FAINT = 1e-6  # relative; what float32 makes of a number is less


class Diagnosis(NamedTuple):
    """What a miniature showed, in one line (`ALL_WELL` if it showed nothing)."""

    text: str
    mistakes: tuple[str, ...] = ()  # names of the mistakes that reproduce it
    wrong: bool = False  # it differs from the right run by more than rounding can
    trained: bool = True  # if not, `text` says why no miniature was trained

    def makes(self, deviations: Iterable[Deviation]) -> bool:
        """Whether it makes a mistake that these declare."""
        return bool({deviation.mistake for deviation in deviations} & {*self.mistakes})

    def cause(self, deviations: Iterable[Deviation], reason: str) -> str:
        """Why a contender that declares these was refused for this reason. What it declares is no
        cause, unless it is more than declared."""
        makes = self.makes(deviations)
        if makes or self.text == ALL_WELL:
            for what in ("loss", "state"):
                if reason.startswith(MORE.format(what)):
                    return ENOUGH.format(what)
        if not makes:
            return self.text
        seen = SEEN.search(reason)
        if seen and int(seen[2]) > STEPS:
            return AS_DECLARED
        return IN_FLOAT32 if seen and float(seen[1]) < FAINT else AT_SIZE


def examine(
    worker: WorkerProcess,
    workload: Workload,
    variant: str,
    scratch: Path,
    state: Mapping[str, Deviation] = NOTHING,
    declared: Iterable[Deviation] = (),
) -> Diagnosis:
    """Have a miniature of the workload trained, and compare it with the oracle's.

    An exception of the adapter becomes part of the answer. Files are left in the folder `scratch`.
    `state` are tensors that are declared to deviate, with how; `declared` is how the optimiser is.

    Raises:
        WorkerDied: the process ended.
    """
    try:
        script = Script.draw(miniature(workload))
    except WorkloadError as error:
        return Diagnosis(f"no miniature of it can be made ({error})", trained=False)
    given, out = (scratch.resolve() / name for name in ("script.npz", "recorded.npz"))
    script.save(given)
    try:
        worker.ask(
            "record_run",
            workload=to_dict(script.workload),
            variant=variant,
            script=str(given),
            out=str(out),
        )
        with left_by_a_worker():
            seen = RecordedRun.read(out)
        for moment in seen.moments:
            require_shapes(moment.weights, script.weights)
    except (WorkerDied, Unavailable) as failure:
        if isinstance(failure, WorkerDied) and failure.ended:
            raise
        return Diagnosis(f"a miniature of it fails: {failure}", trained=False)
    except NotComparable as error:
        return Diagnosis(line(f"in a miniature of it, {error}"), trained=False)
    return explain(script, seen, state, declared)


def explain(
    script: Script,
    seen: RecordedRun,
    state: Mapping[str, Deviation] = NOTHING,
    declared: Iterable[Deviation] = (),
) -> Diagnosis:
    """The diagnosis of a recorded run. A declared mistake is among its causes if the run differs
    from NumPy with that mistake by rounding only."""
    with np.errstate(all="ignore"):  # some mistakes divide by zero
        if wrong := wrong_state(script, seen, state):
            return Diagnosis(f"in a miniature of it, {wrong}", wrong=True)
        right = perform(OracleTrainer, script)
        drift = idle_drift(script, seen.moments, right.moments)
        seen = without(seen, {*state, *script.workload.idle})
        error = farthest(seen.moments, right.moments)
        if error <= TOLERANCE or only_rounding(script, seen.moments, right.moments, drift):
            return Diagnosis(ALL_WELL)
        causes = mistakes(script, seen.moments, right.moments) or [
            CATALOGUE[name]
            for name in dict.fromkeys(deviation.mistake for deviation in declared)
            if as_with(name, script, seen.moments, right.moments, drift)
        ]
        if causes:
            says = ", or like one that ".join(mistake.says for mistake in causes)
            mends = " ".join(dict.fromkeys(mistake.mend for mistake in causes))
            text = f"a miniature of it trains exactly like one that {says}: {mends}"
        else:
            text = f"in a miniature of it, {divergence(seen, right)}"
        return Diagnosis(text, tuple(mistake.name for mistake in causes), error > REPRODUCES)


def idle_drift(script: Script, seen: list[Moment], right: list[Moment]) -> dict[str, float]:
    """How far each idle bias of a run, if it still has them, is from NumPy's at the most,
    relative."""
    pairs = list(zip(seen, right, strict=True))
    return {
        name: max(distance(own.weights[name], true.weights[name]) for own, true in pairs)
        for name in script.workload.idle & seen[0].weights.keys()
    }


def only_rounding(
    script: Script,
    seen: list[Moment],
    right: list[Moment],
    drift: Mapping[str, float] = STILL,
    made: list[Moment] | None = None,
) -> bool:
    """Whether a run differs from NumPy's by rounding alone, until a number of NumPy's is `VAST`.
    Rounding may be `WORST` times NumPy's own up to this step: its error in float32, in the finer
    digits of float64, or what a last bit of the weights changes, or the `drift` of idle biases. A
    number that this makes `LOST` says nothing, but the first losses must say something. `made` is
    NumPy's run with a mistake, if the run is compared with that."""
    single = perform(Float32OracleTrainer, script).moments
    others = [
        perform(OracleTrainer, replace(script, weights=weights)).moments
        for weights in (*shaken(script.weights), drifted(script.weights, drift))
    ]
    room: dict[str, float] = {}
    for step, moment in enumerate(right):
        true = named(moment)
        if not all((np.abs(value) < VAST).all() for value in true.values()):
            return True
        if step == STEPS + 1:  # after a restart
            room = {}
        wanted = named((made or right)[step])
        for name, value in named(seen[step]).items():
            near = [FINER * min(distance(named(single[step])[name], true[name]), 1)]
            near += [distance(named(one[step])[name], true[name]) for one in others]
            room[name] = max(room.get(name, 0.0), *(WORST * each for each in near))
            if name == "loss" and step <= FEWEST and room[name] > LOST:
                return False
            allowed = max(TOLERANCE, room[name])
            if room[name] <= LOST and not distance(value, wanted[name]) <= allowed:
                return False
    return True


def named(moment: Moment) -> Weights:
    return {"loss": np.array(moment.loss), **moment.weights}


def wrong_state(script: Script, seen: RecordedRun, state: Mapping[str, Deviation]) -> str:
    """The tensors of state that are neither right nor what is declared of them, "" for none.

    They are compared after the first step, when state depends on no update of the weights.
    """
    given = script.workload, script.weights
    own, wrong = seen.moments[1].weights, []
    for mistake in dict.fromkeys(one.mistake for one in state.values() if one.mistake):
        trainers = OracleTrainer(*given), CATALOGUE[mistake].trainer(*given)
        runs = [first_moment(trainer, script).weights for trainer in trainers if trainer]
        names = [name for name, one in state.items() if one.mistake == mistake]
        wrong += [n for n in names if min(distance(own[n], w[n]) for w in runs) > REPRODUCES]
    return f"{listed(wrong)}: neither right nor as declared" if wrong else ""


def first_moment(trainer: OracleTrainer, script: Script) -> Moment:
    """The moment after one step."""
    return next(islice(moments(trainer, script), 1, None))


def without(seen: RecordedRun, names: Collection[str]) -> RecordedRun:
    """The run without these tensors."""
    return replace(
        seen,
        moments=[
            Moment(moment.loss, {n: w for n, w in moment.weights.items() if n not in names})
            for moment in seen.moments
        ],
    )


def mistakes(script: Script, seen: list[Moment], right: list[Moment]) -> list[Mistake]:
    """The mistakes that reproduce the run, the closest first."""
    before_restart = farthest(seen[: STEPS + 1], right[: STEPS + 1])
    if before_restart > TOLERANCE:  # a restart matters only if all was well before it
        seen, right = seen[: STEPS + 1], right[: STEPS + 1]
    limit = max(min(REPRODUCES, CLOSER * farthest(seen, right)), ROUNDING)
    found = {}
    for mistake in CATALOGUE.values():
        error = reproduction(mistake, script, seen, limit)
        if error <= limit:
            found[mistake.name] = error
    close = max(10 * min(found.values(), default=0), ROUNDING)
    names = sorted((name for name in found if found[name] <= close), key=lambda name: found[name])
    return [CATALOGUE[name] for name in names[:NAMED]]


def reproduction(mistake: Mistake, script: Script, seen: list[Moment], limit: float) -> float:
    """The largest distance of the run from the mistake's own run.

    Infinite as soon as it exceeds `limit`, and if the mistake does not fit the workload.
    """
    trainer, worst = mistake.trainer(script.workload, script.weights), 0.0
    if not trainer:
        return float("inf")
    try:
        for moment, mistaken in zip(seen, moments(trainer, script), strict=False):
            worst = max(worst, between(moment, mistaken))
            if worst > limit:
                return float("inf")
    except (ValueError, IndexError):  # shapes that do not fit
        return float("inf")
    return worst


def undeclared(found: Diagnosis, deviations: Sequence[Deviation], workload: Workload) -> bool:
    """Whether the declarations name mistakes and the miniature makes none of them. A miniature that
    agrees with NumPy may make a mistake that it cannot show."""
    mistakes = {deviation.mistake for deviation in deviations} - {""}
    if not mistakes or not found.trained or mistakes & {*found.mistakes}:
        return False
    return found.text != ALL_WELL or not any(unseen(name, workload) for name in mistakes)


def unseen(name: str, workload: Workload) -> bool:
    """Whether a miniature cannot show this mistake."""
    script = Script.draw(miniature(workload))
    with np.errstate(all="ignore"):
        right = perform(OracleTrainer, script)
        own = without(right, {*script.workload.state_shapes, *script.workload.idle})
        return as_with(name, script, own.moments, right.moments)


def as_with(
    name: str,
    script: Script,
    seen: list[Moment],
    right: list[Moment],
    drift: Mapping[str, float] = STILL,
) -> bool:
    """Whether rounding is all that a run differs in from NumPy's with this mistake."""
    mistake = CATALOGUE.get(name)
    trainer = mistake and mistake.trainer(script.workload, script.weights)
    if not trainer:
        return False
    return only_rounding(script, seen, right, drift, [*moments(trainer, script)])


def farthest(some: Sequence[Moment], others: Sequence[Moment]) -> float:
    """The largest distance between two runs at any moment."""
    return max(between(one, other) for one, other in zip(some, others, strict=True))


def between(moment: Moment, right: Moment) -> float:
    """The largest distance of the loss and of any tensor."""
    tensors = (distance(w, right.weights[n]) for n, w in moment.weights.items())
    return max(distance(moment.loss, right.loss), *tensors)
