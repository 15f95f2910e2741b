"""Certifies one random network as a study does. Its processes stay for the next network."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from frameworks.workloads import Workload, to_dict
from frameworks.workloads.datasets.mnist import MnistSettings
from workflows.certify.as_timed import UNCERTAIN
from workflows.certify.certificate import Examination
from workflows.certify.diagnosis import examine
from workflows.certify.runs import Reference, Runner
from workflows.conformance.rules.certificates import as_if_detected
from workflows.planning.configfiles import parse
from workflows.planning.plan import Plan
from workflows.records.folders import Folders
from workflows.records.schema import Contender
from workflows.stages.prepare import prepare
from workflows.worker.process import WorkerProcess

REFERENCE = "pytorch"
TRIED = {"pytorch": ["tuned"], "tensorflow": ["default", "tuned"], "jax": ["default", "tuned"]}
STEPS, BATCHES = 20, 40  # of a long run, and of a data set
Key = tuple[object, ...]  # of a process


class Outcome(NamedTuple):
    contender: str
    status: str
    why: str = ""

    @property
    def alarm(self) -> bool:
        return self.status in ("refused", "failed")


class KeptRunner(Runner):
    """Leaves its processes to the runner of the next network."""

    def __init__(
        self, plan: Plan, workload: str, folders: Folders, workers: dict[Key, WorkerProcess]
    ) -> None:
        super().__init__(plan, workload, folders)
        self.workers = workers


class Certifier:
    """Certifies networks one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: dict[Key, WorkerProcess] = {}

    def close(self) -> None:
        for worker in self.workers.values():
            worker.close()

    def certify(self, workload: Workload, name: str) -> Iterator[Outcome]:
        """Check the reference's own miniature, then certify each variant of the framework `name`.
        If the reference's losses overflow, there is nothing to compare."""
        folders = Folders(self.folder / "here" / "alarms")
        shutil.rmtree(folders.root, ignore_errors=True)
        plan = planned(workload, name, folders)
        own = plan.study.workload(workload.name)
        prepare(own, folders.data / workload.name, plan.study.seed, MnistSettings())
        runner = KeptRunner(plan, workload.name, folders, self.workers)
        reference = Reference(folders.reference(workload.name))
        reference.folder.mkdir(parents=True)
        yield trained(runner, reference)
        finite = np.isfinite(reference.result("long").losses).all()
        for contender in plan.contenders:
            if contender.framework != name or contender.name == plan.reference.name:
                continue
            named = f"{contender.framework}/{contender.variant}"
            if not finite:
                yield Outcome(named, "diverges")
            elif not otherwise_computed(workload, contender):
                row = Examination(runner, contender, reference, lambda text: None).row()
                why = "; ".join(filter(None, [row.reason, row.cause]))
                uncertain = row.reason.startswith(UNCERTAIN)
                yield Outcome(named, "uncertain" if uncertain else row.status, why)


def otherwise_computed(workload: Workload, contender: Contender) -> bool:
    """Whether Keras is rightly refused: on an embedding, its RMSprop and Adam square the gradients
    of a word that occurs twice one by one, and not their sum."""
    keras = (contender.framework, contender.variant) == ("tensorflow", "default")
    return keras and workload.dataset.words and workload.optimiser.kind in ("rmsprop", "adam")


def trained(runner: KeptRunner, reference: Reference) -> Outcome:
    """Train the reference; a miniature of it is compared with plain NumPy."""
    contender, scratch = runner.plan.reference, reference.folder
    for name, run in runner.runs.items():
        with runner.process(contender) as worker:
            reference.keep(name, runner.train(worker, contender, run, reference.file(name)))
    with runner.process(contender) as worker:
        runner.gradients(worker, contender, reference.file("gradients"))
        reference.keep("turns", runner.train_turns(worker, contender))
        found = examine(worker, runner.workload, contender.variant, scratch, {})
    wrong = bool(found.mistakes or found.wrong)
    status, why = ("refused", found.text) if wrong else ("agrees", "")
    return Outcome(f"{contender.framework}/{contender.variant}", status, why)


def planned(workload: Workload, name: str, folders: Folders) -> Plan:
    """A study of the reference and one framework, as if both had been detected."""
    variants = {REFERENCE: ["default"]}
    variants[name] = [*variants.get(name, []), *TRIED[name]]
    entry = to_dict(workload)
    del entry["name"]
    entry["dataset"]["samples"] = BATCHES * workload.batch
    study = parse(
        {
            "study": "alarms",
            "replicates": 1,
            "reference": REFERENCE,
            "contenders": [{"framework": n, "variants": own} for n, own in variants.items()],
            "devices": ["cpu"],
            "threads": [1],
            "workloads": {workload.name: entry},
            "controls": False,
            "contest": {"warmup": 1, "rounds": 1, "turn": 2},
            "certificate": {"steps": STEPS, "full_steps": 1, "optimisers": []},
        }
    )
    return as_if_detected(study, folders, "python -m benchmarks.alarms")
