"""Rules that compare an adapter with plain NumPy: the first loss, and every element."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from frameworks.contract import Deviation
from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE
from frameworks.workloads import Workload, leaves
from frameworks.workloads.optimisers import OPTIMISERS
from frameworks.workloads.workload import LOSSES
from workflows.certify.diagnosis import (
    explain,
    farthest,
    idle_drift,
    only_rounding,
    without,
    wrong_state,
)
from workflows.certify.divergence import distance as relative
from workflows.certify.judge import NotComparable, declared_state, require_shapes, unnamed
from workflows.conformance.engine import Finding, Rule, broken, does_not_apply, holds
from workflows.conformance.subject import Subject
from workflows.records.thresholds import FLOAT32_LOSS, REPRODUCES, TOLERANCE
from workflows.worker.process import WorkerDied
from workflows.worker.recorded_run import RecordedRun, Script, moments, perform

# Relative, as in a study: of losses and weights in all steps.
ALLOWED = {"float64": TOLERANCE, "float32": FLOAT32_LOSS}


class Late(Exception):
    """A step refuses what `Adapter.trainer` had built."""


def recorded(subject: Subject, workload: Workload) -> tuple[Script, RecordedRun]:
    """Train a small network as a script says.

    Raises Late, NotComparable, or as `Subject.ask`.
    """
    script = Script.draw(workload)
    given, out = (subject.folder / name for name in ("script.npz", "run.npz"))
    script.save(given)
    answer = subject.ask("trained", workload, subject.finest, script=str(given), out=str(out))
    if "late" in answer:
        raise Late(answer["late"])
    seen = RecordedRun.read(out)
    for moment in seen.moments:
        require_shapes(moment.weights, script.weights)
    return script, seen


def first_loss(subject: Subject) -> Finding:
    errors, allowed = [], ALLOWED[subject.finest]
    for network in subject.trained:
        try:
            script, seen = recorded(subject, network)
        except Late:  # the rule of the vocabulary says so
            continue
        true = next_loss(OracleTrainer(network, script.weights), script)
        errors.append(relative(seen.moments[1].loss, true))
        if not errors[-1] <= allowed:
            return broken(
                f"{contents(network)}: {seen.moments[1].loss!r}, which is {errors[-1]:.1e} from "
                f"plain NumPy's {true!r} (allowed {allowed:.0e}, in {subject.finest})",
                cause(script, seen),
            )
    if not errors:
        return does_not_apply("it takes no step")
    return holds(
        f"{len(errors)} networks, at most {max(errors):.1e} from plain NumPy's, in {subject.finest}"
    )


def next_loss(trainer: Any, script: Script) -> float:
    trainer.step(trainer.put(*script.batches[0]))
    return float(trainer.loss())


def vocabulary(subject: Subject) -> Finding:
    """Each layer, loss and optimiser is trained as in NumPy, or refused."""
    wrong, notes, worst, count = [], [], 0.0, 0
    for name, network in subject.basis.elements().items():
        try:
            if refusal := subject.refusal(network, subject.finest):
                notes.append(f"not supported: {name} ({refusal})")
                continue
            script, seen = recorded(subject, network)
            distance, allowed, what, mend = compared(subject, script, seen)
        except Late as late:
            wrong.append((name, f"refused by a step only ({late})", claim(name)))
        except (WorkerDied, NotComparable) as failure:
            wrong.append((name, str(failure), f"mend that, or claim less: {claim(name)}"))
        else:
            count += 1
            worst = max(worst, distance if allowed == ALLOWED[subject.finest] else 0.0)
            if not distance <= allowed:
                wrong.append((name, f"{distance:.1e} from {what} (allowed {allowed:.0e})", mend))
    if wrong:
        seen_ = "; ".join(f"{name}: {text}" for name, text, _ in wrong)
        mends = dict.fromkeys(mend for *_, mend in wrong)
        return broken(seen_, "; ".join(mends), *notes)
    return holds(
        f"{count} elements, at most {worst:.1e} from plain NumPy's, in {subject.finest}", *notes
    )


def refusals(subject: Subject) -> Finding:
    """A refusal stands in the report, where somebody wonders what the framework cannot do."""
    found = {}
    for name, network in subject.basis.elements().items():
        with suppress(WorkerDied):  # the rule of the vocabulary says so
            if refusal := subject.refusal(network, subject.finest):
                found[name] = named(refusal, network), refusal
    if not found:
        return does_not_apply("it refuses no layer, loss or optimiser")
    nameless = {name: refusal for name, (says, refusal) in found.items() if not says}
    if nameless:
        listed = "; ".join(f"{name}: refused with {text!r}" for name, text in nameless.items())
        return broken(listed, "; ".join(map(claim, nameless)))
    return holds(f"{len(found)} refusals, each names what it is about")


def compared(subject: Subject, script: Script, seen: RecordedRun) -> tuple[float, float, str, str]:
    """How far a run is from the truth, or from the mistake that is declared.

    Returns the distance, the distance allowed, from what it is, and what to mend. A declared
    mistake is judged as in a study.
    """
    state = declared_state(subject.contender(subject.device, subject.threads), script.workload)
    if wrong := wrong_state(script, seen, state):
        return float("inf"), ALLOWED[subject.finest], "the state of plain NumPy", wrong
    true, allowed = perform(OracleTrainer, script).moments, ALLOWED[subject.finest]
    drift = idle_drift(script, seen.moments, true)
    seen = without(seen, {*state, *script.workload.idle})
    component = f"optimiser.{script.workload.optimiser.kind}"
    declared = [d for d in subject.description.variants[subject.variant].deviations
                if d.component == component]  # fmt: skip
    distance = farthest(seen.moments, true)
    if declared and not distance <= allowed:
        if not (found := list(with_mistakes(script, seen, declared))):
            return distance, allowed, "plain NumPy", unnamed(declared)
        distance, mistake = min(found)
        what = f"NumPy with the declared mistake {mistake!r}"
        mend = f"it does something else than {mistake!r}, or something beside it"
        return distance, max(allowed, REPRODUCES), what, mend
    if distance > allowed and only_rounding(script, seen.moments, true, drift):
        return distance, float("inf"), "plain NumPy", ""
    mend = "" if distance <= allowed else cause(script, seen)
    return distance, allowed, "plain NumPy", mend


def with_mistakes(
    script: Script, seen: RecordedRun, declared: Iterable[Deviation]
) -> Iterator[tuple[float, str]]:
    """How far a run is from NumPy's with each declared mistake that fits, and the mistake."""
    for deviation in declared:
        mistake = CATALOGUE.get(deviation.mistake)
        if trainer := mistake and mistake.trainer(script.workload, script.weights):
            yield farthest(seen.moments, list(moments(trainer, script))), deviation.mistake


def claim(element: str) -> str:
    """How an adapter says that it does not have this layer, loss or optimiser."""
    kind = "loss" if element in LOSSES else "optimiser" if element in OPTIMISERS else "layer"
    return f'raise NotImplementedError("no {kind} of kind {element}") in Adapter.trainer'


def cause(script: Script, seen: RecordedRun) -> str:
    with np.errstate(all="ignore"):
        return explain(script, seen).text


def named(refusal: str, workload: Workload) -> bool:
    """Whether a refusal says which part of the workload it is about."""
    kinds = [stage.layer.kind for stage in (*workload.stages, *leaves(workload.stages))]
    parts = [*kinds, "padding", "stride", workload.loss, workload.optimiser.kind]
    return any(letters(part) in letters(refusal) for part in parts)


def letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def contents(workload: Workload) -> str:
    kinds = ", ".join(layer.kind for layer in workload.layers)
    return f"{kinds}, {workload.loss}"


AFTER = ("description", "build", "precision", "weights", "batch")
RULES = (
    Rule(
        "first loss",
        "The first loss is that of plain NumPy on the same weights and mini-batch.",
        first_loss,
        AFTER,
    ),
    Rule(
        "vocabulary",
        "Every layer, loss and optimiser trains as in plain NumPy, or is refused in "
        "Adapter.trainer with NotImplementedError.",
        vocabulary,
        # Not after "first loss": this rule names what is wrong with it.
        (*AFTER, "repeats", "interleaving"),
    ),
    Rule(
        "refusal",
        "A refusal names the layer, loss or optimiser that it is about.",
        refusals,
        ("description", "build"),
        advice=True,
    ),
)
