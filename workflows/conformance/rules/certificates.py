"""The rule that decides: a certificate on every workload, as in a study."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from frameworks.device import HOST
from frameworks.registry import framework, versions
from frameworks.workloads import Workload, load
from frameworks.workloads.datasets.mnist import MnistSettings
from frameworks.workloads.optimisers import OPTIMISERS
from workflows.certify.as_timed import wrong_fence
from workflows.certify.diagnosis import ALL_WELL, examine
from workflows.certify.judge import declared, declared_state
from workflows.certify.runs import FAILED, Reference, Runner
from workflows.certify.stage import examining, make_reference
from workflows.conformance.engine import Finding, Rule, broken, does_not_apply, holds
from workflows.conformance.rules.timing import WAIT
from workflows.conformance.subject import Subject
from workflows.planning.configfiles import parse
from workflows.planning.configuration import Configuration
from workflows.planning.plan import (
    Detected,
    Detection,
    Plan,
    contenders_here,
    load_plan,
    surface,
    write_request,
)
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.schema import CertificateRow
from workflows.records.storage import write_json
from workflows.stages.prepare import prepare

REFERENCE = "pytorch"
BATCHES = 40  # of each workload, over and over: enough to see all layers trained
QUICK = {"steps": 20, "full_steps": 1}
SHORT = {"warmup": 1, "rounds": 1, "turn": 2}  # nothing is timed
OK = ("agrees", "declared")
NAMED = "mend what the reason names, such as a tensor or a restart"


class Saying(Progress):
    """Draws nothing, and passes on what a longer job says."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(1, "", stream=StringIO())
        self.say = say

    def update(self, done: float, text: str, left_s: float | None = None) -> None:
        self.say(text)


def certificate(subject: Subject) -> Finding:
    """A certificate of each workload; workloads that the adapter refuses become notes."""
    if not subject.workloads:
        return does_not_apply("no workload was asked for")
    notes, seen, mends = [], [], []
    with tempfile.TemporaryDirectory(dir=subject.folder) as folder:
        folders = Folders(Path(folder) / "here" / "conformance")
        plan = planned(subject, folders) if versions(framework(REFERENCE)) else None
        for name in subject.workloads:
            subject.say(f"certificate of {name}")
            status, text, mend = against(subject, plan, name, folders)
            if status == "missing":
                notes.append(f"{name}: not supported: {text}")
                continue
            seen.append(": ".join(filter(None, [name, status, text])))
            if status not in OK:
                mends.append(f"{name}: {mend}")
    if mends:
        return broken("; ".join(seen), "; ".join(mends), *notes)
    if not seen:
        return does_not_apply("; ".join(notes))
    return holds("; ".join(seen), *notes)


def against(
    subject: Subject, plan: Plan | None, name: str, folders: Folders
) -> tuple[str, str, str]:
    """The certificate of one workload: status, reason and what to mend."""
    workload = load(name, entries(subject.workloads)[name])
    if refusal := subject.refusal(workload):
        return "missing", refusal, ""
    if plan:
        reference = Reference(folders.reference(name))
        prepare(workload, folders.data / name, plan.study.seed, MnistSettings(source="stand-in"))
        make_reference(plan, name, folders, Saying(subject.say))
        if not (reference.folder / FAILED).exists():
            row = examined(subject, plan, name, folders)
            asked = plan.study.certificate.allowed(workload)
            others = [
                f"{kind} {other.status}: {other.reason}"
                for kind, other in row.optimisers.items()
                if other.status in ("refused", "failed")
            ]
            status = "refused" if others and row.status in OK else row.status
            what = f"{asked.steps} steps of {plan.reference.name}"
            if workload.elementwise:
                what = "NumPy's results"
            text = "; ".join(filter(None, [what * (status in OK), row.reason, *others]))
            mend = f"the fence: {WAIT}" if row.reason and row.reason == wrong_fence(row) else NAMED
            return status, text, row.cause or mend
    return alone(subject, workload, folders.root)


def examined(subject: Subject, plan: Plan, name: str, folders: Folders) -> CertificateRow:
    """The certificate as in a study, in a process of its own. A quick one is from the process that
    the other rules have used, in float64 too."""
    own = next(c for c in plan.contenders if c.name == subject.name)
    with Runner(plan, name, folders) as runner:
        if subject.quick:
            worker = subject.opened("float32", subject.device, subject.threads)
            worker.precision = ""  # it will be opened in both
            runner.workers[own.framework, own.device, own.threads] = worker
        else:
            subject.end(subject.device, subject.threads)
        reference = Reference(folders.reference(name))
        examination = examining(plan, name)(own)
        row = examination(runner, own, reference, partial(said, subject, name)).row()
    subject.bury()
    return row


def said(subject: Subject, name: str, text: str) -> None:
    subject.say(f"certificate of {name}, {text}")


def alone(subject: Subject, workload: Workload, scratch: Path) -> tuple[str, str, str]:
    """The certificate without a reference, from a miniature and plain NumPy in float64."""
    if workload.elementwise:
        return "missing", f"the certificate of a single operation needs {REFERENCE}", ""
    if subject.finest != "float64":
        return "missing", f"without float64 the certificate needs {REFERENCE}", ""
    scratch.mkdir(parents=True, exist_ok=True)
    worker = subject.opened("float64", subject.device, subject.threads)
    own = subject.contender(subject.device, subject.threads)
    state = declared_state(own, workload)
    deviations = declared(own, workload.optimiser.kind)
    found = examine(worker, workload, subject.variant, scratch, state, deviations)
    subject.bury()
    if found.text == ALL_WELL:
        text = f"a miniature of it, with plain NumPy; {REFERENCE}, to certify the whole, is missing"
        return "agrees", text, ""
    if {one.mistake for one in (*deviations, *state.values())} & {*found.mistakes}:
        return "declared", found.text, ""
    return "refused", found.text, found.text


def planned(subject: Subject, folders: Folders) -> Plan:
    """A study of the subject and the reference, as if both had been detected."""
    return as_if_detected(configured(subject), folders, "samestep check")


def as_if_detected(study: Configuration, folders: Folders, command: str) -> Plan:
    """The plan of a study whose frameworks are taken to run on every device that it names."""
    write_request(folders, study, "here", command)
    for entry in study.contenders:
        found = Detected(
            versions=versions(framework(entry.framework)) or {entry.framework: "there"}
        )
        surfaces = map(surface, contenders_here(study, entry.framework))
        detection = Detection(framework=entry.framework, devices=dict.fromkeys(surfaces, found))
        write_json(folders.detection(entry.framework), detection)
    return load_plan(folders)


def configured(subject: Subject) -> Configuration:
    name, variant = subject.description.name, subject.variant
    # No other rule sees how far the loss of a declared deviation is off.
    contender = subject.contender(subject.device, subject.threads)
    deviating = [kind for kind in OPTIMISERS if declared(contender, kind)]
    own = {"framework": name, "variants": [variant], "devices": [subject.device]}
    reference = {"framework": REFERENCE, "variants": ["default"], "devices": [HOST.name]}
    if name == REFERENCE:
        both = list(dict.fromkeys(["default", variant]))
        contenders = [{**own, "variants": both, "devices": list({HOST.name, subject.device})}]
    else:
        contenders = [reference, own]
    return parse(
        {
            "study": "conformance",
            "replicates": 1,
            "reference": REFERENCE,
            "contenders": contenders,
            "threads": [subject.threads],
            "workloads": entries(subject.workloads),
            "controls": False,
            "contest": SHORT,
            "certificate": {**QUICK, "optimisers": deviating} if subject.quick else {},
            "interpreters": {name: subject.interpreter},
        }
    )


def entries(workloads: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The workloads as configured, but with few mini-batches instead of a whole data set."""
    found = {}
    for name, entry in workloads.items():
        found[name] = dict(entry or {})
        workload = load(name, entry)
        if not ("layers" in found[name] or workload.elementwise):
            found[name]["samples"] = BATCHES * workload.batch
    return found


RULES = (
    Rule(
        "certificate",
        "On every workload the adapter computes, step by step, what the reference computes.",
        certificate,
        (
            "description", "build", "precision", "weights", "batch", "first loss", "vocabulary",
            "repeats", "interleaving", "fence", "settings",
        ),
        isolated=True,
    ),
)  # fmt: skip
