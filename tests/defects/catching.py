"""Put every planted defect through the certificate, and name the check that caught it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from frameworks.registry import framework
from frameworks.workloads.datasets.mnist import MnistSettings
from tests.conftest import PACKAGES
from tests.defects.audit import BenchmarkId, Key, mismatches
from tests.defects.workloads import STEPS, WORKLOADS
from workflows.certify.stage import certify, make_reference
from workflows.planning.configfiles import parse
from workflows.planning.plan import Plan, PlannedContender, load_plan, write_request
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.schema import CertificateRow
from workflows.records.storage import write_json
from workflows.stages.detect import detect
from workflows.stages.prepare import prepare

FRAMEWORKS = ("planted", "planted-tensorflow")


class Caught(NamedTuple):
    by: str  # the check; "" if nothing caught it
    reason: str
    cause: str = ""  # what a diagnosis found

    @property
    def message(self) -> str:
        return "; ".join(filter(None, [self.reason, self.cause]))


Results = dict[Key, Caught]


@contextmanager
def planted() -> Iterator[None]:
    """Make the package of planted defects findable here and in workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PACKAGES / "planted")
        patch.setenv("PYTHONPATH", str(PACKAGES / "planted"), prepend=os.pathsep)
        yield


def catch(folder: Path) -> Results:
    """What caught each defect, by framework and variant, and `right` on each workload.

    The key of the latter is `right/WORKLOAD`. The study and its logs go to `folder`.
    """
    plan, folders = planned(folder)
    caught: Results = {}
    passed: dict[Key, BenchmarkId] = {}
    for workload, contender, row in certificates(plan, folders):
        key = row.framework, row.variant + f"/{workload}" * (row.variant == "right")
        if row.status in PASSED:
            passed[key] = contender, workload
        else:
            caught[key] = Caught(check(row), row.reason, row.cause)
    for key, message in mismatches(plan.reference, passed, folders):
        caught[key] = Caught("setting" if message else "", message)
    return caught


def certificates(
    plan: Plan, folders: Folders
) -> Iterator[tuple[str, PlannedContender, CertificateRow]]:
    with Progress(1, "defects") as progress:
        for workload in WORKLOADS:
            prepare(plan.study.workload(workload), folders.data / workload, 1, MnistSettings())
            make_reference(plan, workload, folders, progress)
            shown = shown_on(plan, workload)
            part = plan.model_copy(update={"contenders": [plan.reference, *shown]})
            for name in FRAMEWORKS:
                own = [contender for contender in shown if contender.framework == name]
                if own:
                    rows = certify(part, workload, name, folders, progress).rows
                    yield from ((workload, *pair) for pair in zip(own, rows, strict=True))


def planned(folder: Path) -> tuple[Plan, Folders]:
    """A plan of all variants on all workloads."""
    contenders = [
        {"framework": name, "variants": list(framework(name).variants)} for name in FRAMEWORKS
    ]
    study = parse(
        {
            "study": "defects",
            "replicates": 1,
            "reference": "pytorch",
            "contenders": [{"framework": "pytorch"}, *contenders],
            "devices": ["cpu"],
            "threads": [1],
            "workloads": WORKLOADS,
            "certificate": {"steps": STEPS, "optimisers": []},
        }
    )
    folders = Folders(folder / "results" / "here" / "defects")
    write_request(folders, study, "here", "a test")
    for entry in study.contenders:
        probe = detect(study, entry.framework, note=lambda text: None)
        write_json(folders.probe(entry.framework), probe)
    return load_plan(folders), folders


def shown_on(plan: Plan, workload: str) -> list[PlannedContender]:
    """The defects that this workload shows, and `right` of their frameworks."""
    from planted.registry import DEFECTS

    here = {key for key, defect in DEFECTS.items() if defect.workload == workload}
    here |= {(name, "right") for name, _ in here}
    return [c for c in plan.contenders if (c.framework, c.variant) in here]


def check(row: CertificateRow) -> str:
    """The part of the certificate that refused, in a word or two; its status if it names none."""
    for sign, name in SIGNS:
        if sign in row.reason:
            return name
    return row.status


PASSED = ("agrees", "declared")
SIGNS = (
    ("goes on changing", "copies"),
    ("of a new trainer", "new trainer"),
    ("weights()", "names and shapes"),
    ("declared", "declaration"),
    ("with plain SGD", "declaration"),
    ("given to put", "host arrays"),
    ("before the first step", "before training"),
    ("in float32", "rounding"),
    ("first gradient", "gradient"),
    ("after restart()", "restart"),
    ("synchronise()", "fence"),
    ("loss ", "loss"),
    (" after step", "weights"),
)
