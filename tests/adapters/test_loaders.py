"""The frameworks' own loaders, as a worker uses them in a contest."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from benchmarks.kills.study import alive
from frameworks.workloads.datasets import MnistSettings
from tests.workflows.worker.test_loading import IMAGES, wanted
from workflows.machine.fingerprint import available_cores
from workflows.measure.interference import threads
from workflows.records.schema import Contender
from workflows.stages.prepare import prepare
from workflows.worker.loading import LONGEST
from workflows.worker.process import WorkerProcess

WORKERS = 2
CORES = available_cores()[:1]


def ready(framework: str, folder: Path, temporary: Path | None = None) -> WorkerProcess:
    """A worker that has built a network, on one core."""
    prepare(IMAGES, folder, 3, MnistSettings("stand-in"))
    contender = Contender(framework=framework, variant="default", device="cpu", threads=1)
    more = {"TMPDIR": str(temporary)} if temporary else {}
    worker = WorkerProcess(sys.executable, contender, more=more)
    worker.send_open("float32", tf32=False)
    worker.receive()
    worker.ask("pin", cores=CORES)
    worker.ask("load", folder=str(folder))
    worker.ask("build", variant="default")
    return worker


@pytest.mark.parametrize(
    "framework", ["pytorch", pytest.param("tensorflow", marks=pytest.mark.all)]
)
def test_a_turn_has_the_mini_batches_that_are_stored(framework: str, tmp_path: Path) -> None:
    """Also from the middle and beyond the end of the data; and the network trains on them."""
    with ready(framework, tmp_path / "images") as worker:
        for first, count in ((0, 2), (4, 5), (3, 2)):
            asked = {"first": first, "count": count, "rebuild": True}
            own = worker.ask("turn", **asked, loader=f"framework-{WORKERS}")
            stored = worker.ask("turn", **asked, loader="stored")
            numbers = [(first + place) % 6 for place in range(count)]
            assert own["delivered"] == stored["delivered"] == wanted(tmp_path / "images", numbers)
            assert own["batch"] == numbers and own["loss"] == stored["loss"]


@pytest.mark.parametrize("killed", [False, True])
def test_processes_of_pytorchs_loader_are_the_contenders_and_end_with_it(
    killed: bool, tmp_path: Path
) -> None:
    worker = ready("pytorch", tmp_path / "images")
    with worker:
        worker.ask("turn", first=0, count=3, rebuild=None, loader=f"framework-{WORKERS}")
        started = psutil.Process(worker.process.pid).children(recursive=True)
        assert len(started) == WORKERS
        assert {one.pid for one in started} <= threads(worker.process.pid).keys()
        assert all(one.cpu_affinity() == CORES for one in started)
        if killed:
            worker.process.kill()
            worker.end()
    assert not any(map(alive, started))


def test_pytorchs_loader_works_where_the_folder_for_temporary_files_has_a_long_name(
    tmp_path: Path,
) -> None:
    """Its sockets' names would be too long there, and no mini-batch would ever come."""
    asked = {"first": 0, "count": 2, "rebuild": None, "loader": "framework-1"}
    for length in (LONGEST, LONGEST + 1, 200):
        with TemporaryDirectory() as short:
            folder = Path(short) / ("x" * (length - 1 - len(short)))
            folder.mkdir()
            with ready("pytorch", tmp_path / "images", folder) as worker:
                given = worker.ask("turn", **asked, timeout_s=60)
                assert given["delivered"] == wanted(tmp_path / "images", [0, 1])
                assert [path.name[:5] for path in folder.glob("pymp-*")] == ["pymp-"]
