"""Diagnosis by reproduction: which known mistake does a refused contender make?

Its adapter trains a miniature of the workload; here the same miniature is trained in NumPy,
once right and once with each mistake of the catalogue. The mistake whose run has the adapter's
losses and weights, where the right one has not, is the cause.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from frameworks.contract import Unavailable
from frameworks.oracle import TruthTrainer
from frameworks.oracle.mistakes import CATALOGUE, Mistake
from frameworks.workloads import Workload, WorkloadError, to_dict
from frameworks.workloads.miniature import miniature
from workflows.certify.divergence import AGREES, apart, departure
from workflows.certify.judge import Uncanonical, require_shapes
from workflows.worker.process import WorkerDied, WorkerProcess
from workflows.worker.recorded_run import STEPS, Moment, RecordedRun, Script, moments, perform

REPRODUCES = 1e-9  # relative, at every step
CLOSER = 1e-2  # than the truth, at least
ROUNDING = 1e-13  # closer than this nothing can be told apart
NAMED = 3
TIMEOUT_S = 120

ALL_WELL = (
    f"a miniature of it agrees with plain NumPy in all its {STEPS} steps: look at what only size "
    "or time brings, or at the reference"
)


class Diagnosis(NamedTuple):
    """What a miniature showed, in one line (`ALL_WELL` if nothing); the mistakes that reproduce
    it; and whether its first loss, which nothing has magnified yet, is not the right one."""

    text: str
    mistakes: tuple[str, ...] = ()
    first_loss_wrong: bool = False
    trained: bool = True  # else `text` says why there is nothing to hold against anything


def examine(worker: WorkerProcess, workload: Workload, variant: str, scratch: Path) -> Diagnosis:
    """Have a miniature of the workload trained, and hold it against the truth.

    What the adapter raises, or a worker that ends, becomes part of the answer. Files are left
    in `scratch`, a folder.
    """
    try:
        script = Script.draw(miniature(workload))
    except WorkloadError as error:
        return Diagnosis(f"no miniature of it can be made ({error})", trained=False)
    given, out = (scratch.resolve() / name for name in ("script.npz", "rehearsal.npz"))
    script.save(given)
    try:
        worker.ask(
            "record_run",
            timeout_s=TIMEOUT_S,
            workload=to_dict(script.workload),
            variant=variant,
            script=str(given),
            out=str(out),
        )
        seen = RecordedRun.read(out)
        for moment in seen.moments:
            require_shapes(moment.weights, script.weights)
    except (WorkerDied, Unavailable) as failure:
        return Diagnosis(f"a miniature of it fails: {failure}", trained=False)
    except Uncanonical as error:
        return Diagnosis(f"in a miniature of it, {error}", trained=False)
    return explain(script, seen)


def explain(script: Script, seen: RecordedRun) -> Diagnosis:
    """The same, of a rehearsal already held."""
    with np.errstate(all="ignore"):  # some mistakes divide by zero
        true = perform(TruthTrainer, script)
        if farthest(seen.moments, true.moments) <= AGREES:
            return Diagnosis(ALL_WELL)
        wrong = apart(seen.moments[1].loss, true.moments[1].loss) > REPRODUCES
        causes = mistakes(script, seen.moments, true.moments)
        if causes:
            says = ", or like one that ".join(mistake.says for mistake in causes)
            mends = " ".join(dict.fromkeys(mistake.mend for mistake in causes))
            text = f"a miniature of it trains exactly like one that {says}: {mends}"
            return Diagnosis(text, tuple(mistake.name for mistake in causes), wrong)
        text = f"in a miniature of it, {departure(seen, true)}"
        return Diagnosis(text, first_loss_wrong=wrong)


def mistakes(script: Script, seen: list[Moment], true: list[Moment]) -> list[Mistake]:
    """Those that reproduce what was seen, the closest first."""
    before_restart = farthest(seen[: STEPS + 1], true[: STEPS + 1])
    if before_restart > AGREES:  # a restart is of interest only where all was well before it
        seen, true = seen[: STEPS + 1], true[: STEPS + 1]
    limit = max(min(REPRODUCES, CLOSER * farthest(seen, true)), ROUNDING)
    found = {}
    for mistake in CATALOGUE.values():
        distance = reproduction(mistake, script, seen, limit)
        if distance <= limit:
            found[mistake.name] = distance
    close = max(10 * min(found.values(), default=0), ROUNDING)
    names = sorted((name for name in found if found[name] <= close), key=lambda name: found[name])
    return [CATALOGUE[name] for name in names[:NAMED]]


def reproduction(mistake: Mistake, script: Script, seen: list[Moment], limit: float) -> float:
    """How far at most what was seen is from the mistake's run; infinite from where it is
    farther than `limit`, and where the mistake does not fit the workload."""
    trainer, worst = mistake.trainer(script.workload, script.weights), 0.0
    if not trainer:
        return float("inf")
    try:
        for theirs, mine in zip(seen, moments(trainer, script), strict=False):
            worst = max(worst, distance(theirs, mine))
            if worst > limit:
                return float("inf")
    except ValueError:  # shapes that do not fit
        return float("inf")
    return worst


def farthest(some: Sequence[Moment], others: Sequence[Moment]) -> float:
    return max(distance(a, b) for a, b in zip(some, others, strict=True))


def distance(moment: Moment, reference: Moment) -> float:
    tensors = (apart(moment.weights[n], w) for n, w in reference.weights.items())
    return max(apart(moment.loss, reference.loss), *tensors)
