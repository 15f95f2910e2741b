"""Put every planted defect through the certificate, and name the check that caught it."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from frameworks.registry import framework, versions
from frameworks.workloads.datasets.mnist import MnistSettings
from tests.conftest import PACKAGES
from tests.defects.audit import Key, mismatches
from tests.defects.workloads import STEPS, WORKLOADS
from workflows.certify.runs import Runner
from workflows.certify.stage import certify, make_reference
from workflows.planning.configfiles import parse
from workflows.planning.plan import (
    Detected,
    Detection,
    Plan,
    PlannedContender,
    load_plan,
    write_request,
)
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.schema import CertificateRow
from workflows.records.storage import write_json
from workflows.stages.prepare import prepare


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


def catch(folder: Path, workload: str, chosen: Collection[Key] | None = None) -> Results:
    """What caught each defect that this workload shows, and `right` of their frameworks.

    The keys are framework and variant. If `chosen` is given, only these variants are tried. The
    study and its logs go to `folder`.
    """
    from planted.registry import DEFECTS

    shown = [key for key, defect in DEFECTS.items() if defect.workload == workload]
    shown = [*dict.fromkeys((name, "right") for name, _ in shown), *shown]
    plan, folders = planned(folder, workload, [k for k in shown if chosen is None or k in chosen])
    prepare(plan.study.workload(workload), folders.data / workload, 1, MnistSettings())
    # A second look in a process of its own would find the same of nearly a hundred defects.
    with Progress(1, "defects") as progress, patch.object(Runner, "part", return_value=False):
        make_reference(plan, workload, folders, progress)
        rows = [
            row
            for entry in plan.study.contenders[1:]
            for row in certify(plan, workload, entry.framework, folders, progress).rows
        ]
    contenders = {(c.framework, c.variant): c for c in plan.contenders}
    caught: Results = {}
    passed: dict[Key, PlannedContender] = {}
    for row in rows:
        key = row.framework, row.variant
        if row.status in PASSED:
            passed[key] = contenders[key]
        else:
            caught[key] = Caught(check(row), row.reason, row.cause)
    for key, message in mismatches(plan.reference, passed, workload, folders):
        caught[key] = Caught("setting" if message else "", message)
    return caught


def planned(folder: Path, workload: str, tried: Collection[Key]) -> tuple[Plan, Folders]:
    """A plan of these variants of the frameworks with planted defects."""
    variants: dict[str, list[str]] = {}
    for name, variant in tried:
        variants.setdefault(name, []).append(variant)
    contenders = [{"framework": name, "variants": own} for name, own in variants.items()]
    study = parse(
        {
            "study": "defects",
            "replicates": 1,
            "reference": "pytorch",
            "contenders": [{"framework": "pytorch"}, *contenders],
            "devices": ["cpu"],
            "threads": [1],
            "workloads": {workload: WORKLOADS[workload]},
            "certificate": {"steps": STEPS, "optimisers": []},
        }
    )
    folders = Folders(folder / "results" / "here" / "defects")
    write_request(folders, study, "here", "a test")
    for entry in study.contenders:
        found = Detected(versions=versions(framework(entry.framework)))
        detection = Detection(framework=entry.framework, devices={"cpu": found})
        write_json(folders.detection(entry.framework), detection)
    return load_plan(folders), folders


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
    ("first gradient in float32", "rounding"),
    ("in float32", "float32"),
    ("first gradient", "gradient"),
    ("after restart()", "restart"),
    ("synchronise()", "fence"),
    ("loss ", "loss"),
    (" after step", "weights"),
)
