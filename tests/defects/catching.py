"""Put every planted defect through the certificate, and name the check that caught it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from frameworks.workloads.datasets.mnist import MnistSettings
from tests.conftest import PACKAGES
from workflows.certify import certify, make_reference
from workflows.configfiles import parse
from workflows.folders import Folders
from workflows.plan import ask, load_plan
from workflows.prepare import prepare
from workflows.probe import look
from workflows.progress import Progress
from workflows.records import CertificateRow
from workflows.storage import write_json

FRAMEWORKS = ("planted", "planted-tensorflow")
STEPS = 60  # one defect shows after the fiftieth only

IMAGES = {"kind": "normal", "samples": 6 * STEPS, "shape": [9, 8, 2], "classes": 4}
VECTORS = {"kind": "normal", "samples": 6 * STEPS, "shape": [8]}
SAME = {"filters": 3, "kernel": 3, "padding": "same"}

# Between them: every kind of layer with weights, a square kernel, an image that is not
# square, padding that is not the same on both sides, and the optimisers with state.
WORKLOADS: dict[str, dict[str, Any]] = {
    "perceptron": {
        "dataset": VECTORS,
        "batch": 6,
        "layers": [{"dense": 8}, "relu", {"dense": 3}],
        "loss": "mean_squared_error",
        "optimiser": "adam",
    },
    "images": {
        "dataset": IMAGES,
        "batch": 6,
        "layers": [
            {"conv2d": {**SAME, "stride": 2}}, "relu", {"average_pool": 2},
            {"conv2d": {**SAME, "filters": 4}}, "relu", "flatten", {"dense": 4},
        ],
        "loss": "sparse_cross_entropy",
        "optimiser": {"momentum": {"learning_rate": 0.01, "momentum": 0.9}},
    },
    "pooled": {
        "dataset": IMAGES,
        "batch": 6,
        "layers": [
            {"conv2d": SAME}, "relu", {"max_pool": 2}, "global_average_pool", {"dense": 4},
        ],
        "loss": "sparse_cross_entropy",
        "optimiser": "rmsprop",
    },
}  # fmt: skip


class Caught(NamedTuple):
    by: str  # the check; "" if nothing caught it
    message: str


@contextmanager
def planted() -> Iterator[None]:
    """Make the package of planted defects findable here and in workers."""
    folder, before = str(PACKAGES / "planted"), os.environ.get("PYTHONPATH")
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, before]))
    try:
        yield
    finally:
        sys.path.remove(folder)
        os.environ["PYTHONPATH"] = before or ""


def catch(workload: str, folder: Path) -> dict[tuple[str, str], Caught]:
    """What became of `right` and of each defect planted in this workload, by framework and
    variant; the study and its logs go to `folder`."""
    from planted.registry import DEFECTS

    variants: dict[str, list[str]] = {}
    for defect in DEFECTS.values():
        if defect.workload == workload:
            variants.setdefault(defect.framework, ["right"]).append(defect.name)
    study = parse(
        {
            "study": workload,
            "replicates": 1,
            "reference": "pytorch",
            "contenders": [
                {"framework": "pytorch"},
                *({"framework": name, "variants": found} for name, found in variants.items()),
            ],
            "devices": ["cpu"],
            "threads": [1],
            "workloads": {workload: WORKLOADS[workload]},
            "certificate": {"steps": STEPS},
        }
    )
    folders = Folders(folder / "results" / "here" / workload)
    ask(folders, study, "here", "a test")
    for entry in study.contenders:
        probe = look(study, entry.framework, note=lambda text: None)
        write_json(folders.probe(entry.framework), probe)
    prepare(study.workload(workload), folders.data / workload, 1, MnistSettings("stand-in"))
    plan, caught = load_plan(folders), {}
    with Progress(1, "defects") as progress:
        make_reference(plan, workload, folders, progress)
        for name in variants:
            for row in certify(plan, workload, name, folders, progress).rows:
                caught[name, row.variant] = Caught(check(row), row.reason)
    return caught


def check(row: CertificateRow) -> str:
    """The part of the certificate that refused, in a word or two."""
    if row.status in ("agrees", "declared"):
        return ""
    for sign, name in SIGNS:
        if sign in row.reason:
            return name
    return row.status


SIGNS = (
    ("weights()", "names and shapes"),
    ("declared", "declaration"),
    ("with plain SGD", "declaration"),
    ("loss ", "loss"),
    (" at the end", "weights"),
)
