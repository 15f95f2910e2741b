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
from workflows.certify.judge import declared
from workflows.certify.runs import Reference, Runner
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

REFERENCES = "pytorch", "tensorflow", "jax"  # the first that is here, and builds the workload
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
        for name in subject.workloads:
            subject.say(f"certificate of {name}")
            status, text, mend = against(subject, name, Path(folder))
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


def against(subject: Subject, name: str, folder: Path) -> tuple[str, str, str]:
    """The certificate of one workload: status, reason and what to mend."""
    workload = load(name, entries(subject.workloads)[name])
    if refusal := subject.refusal(workload):
        return "missing", refusal, ""
    failures: dict[str, str] = {}
    for reference in references(subject, workload):
        folders = Folders(folder / reference / "conformance")
        plan = planned(subject, reference, folders)
        prepare(workload, folders.data / name, plan.study.seed, MnistSettings(source="stand-in"))
        make_reference(plan, name, folders, Saying(subject.say))
        if failure := Reference(folders.reference(name)).failure:
            failures[reference] = failure.partition(" failed: ")[2]
            continue
        row = examined(subject, plan, name, folders)
        others = [
            f"{kind} {other.status}: {other.reason}"
            for kind, other in row.optimisers.items()
            if other.status in ("refused", "failed")
        ]
        status = "refused" if others and row.status in OK else row.status
        what = compared(subject, plan, workload) if status in OK else ""
        beside = [f"{other} cannot be compared with: {why}" for other, why in failures.items()]
        text = "; ".join(filter(None, [what, row.reason, *others, *beside]))
        mend = f"the fence: {WAIT}" if row.reason and row.reason == wrong_fence(row) else NAMED
        return status, text, row.cause or mend
    if own := failures.pop(subject.description.name, ""):
        return "refused", own, own
    needed = f"without float64 it needs one of {', '.join(REFERENCES)} installed beside it"
    return "missing", "; ".join([needed, *(f"{n}: {why}" for n, why in failures.items())]), ""


def references(subject: Subject, workload: Workload) -> list[str]:
    """The frameworks to compare with, the best first. The subject itself comes last: then all that
    a certificate shows is that it repeats itself and, in a miniature, computes what NumPy does.
    PyTorch is compared with itself, as in the default study."""
    own, first = subject.description.name, REFERENCES[0]
    here = [name for name in REFERENCES if versions(framework(name)) and name != own]
    if own == first:
        return [own, *here]
    alone = workload.elementwise or subject.finest == "float64"
    return [*here, own] if alone else here


def compared(subject: Subject, plan: Plan, workload: Workload) -> str:
    """What a row that agrees was compared with."""
    if workload.elementwise:
        return "NumPy's results"
    steps = plan.study.certificate.allowed(workload).steps
    if plan.reference.framework == subject.description.name != REFERENCES[0]:
        return f"{steps} steps of its own, and a miniature of it in plain NumPy"
    return f"{steps} steps of {plan.reference.name}"


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


def planned(subject: Subject, reference: str, folders: Folders) -> Plan:
    """A study of the subject and the reference, as if both had been detected."""
    return as_if_detected(configured(subject, reference), folders, "samestep check")


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


def configured(subject: Subject, reference: str) -> Configuration:
    name, variant = subject.description.name, subject.variant
    # No other rule sees how far the loss of a declared deviation is off.
    contender = subject.contender(subject.device, subject.threads)
    deviating = [kind for kind in OPTIMISERS if declared(contender, kind)]
    own = {"framework": name, "variants": [variant], "devices": [subject.device]}
    beside = {"framework": reference, "variants": ["default"], "devices": [HOST.name]}
    if name == reference:
        both = list(dict.fromkeys(["default", variant]))
        contenders = [{**own, "variants": both, "devices": list({HOST.name, subject.device})}]
    else:
        contenders = [beside, own]
    return parse(
        {
            "study": "conformance",
            "replicates": 1,
            "reference": reference,
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
