"""Two workers of one thread each compute what one computes, and the second ends with the first."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from frameworks.contract import Deviation, Unavailable
from frameworks.oracle.mistakes import CATALOGUE
from frameworks.registry import framework, versions
from frameworks.workloads import Workload, to_dict
from frameworks.workloads.layers import Conv2D, Dense, Flatten, MaxPool, ReLU
from frameworks.workloads.residual import BatchNorm
from tests.adapters.training import NETWORKS, SEQUENCES, small
from tests.adapters.training import Contender as Trained
from workflows.certify.diagnosis import ALL_WELL, NOTHING, explain
from workflows.certify.judge import declared_state
from workflows.records.schema import Contender
from workflows.worker.probes.threads import processor_time
from workflows.worker.process import WorkerDied, WorkerProcess
from workflows.worker.recorded_run import RecordedRun, Script

FRAMEWORKS = ("pytorch", "tensorflow", "jax")
VARIANT = "two-workers"
IMAGES = small(Conv2D(3), ReLU(), MaxPool(2), Flatten(), Dense(4))
ALIKE = {
    "halves": IMAGES,
    "odd": replace(IMAGES, batch=5),
    "single": replace(NETWORKS["regression"], batch=1),
    "words": SEQUENCES["words"],
}
NORMALISED = small(Dense(5), BatchNorm(), ReLU(), Dense(4), shape=(7,))
APART = {
    "pytorch": CATALOGUE["batch-norm-by-half"].says,
    "tensorflow": "batch_norm1.variance: neither right nor as declared",
    "jax": ALL_WELL,  # its program is one of the whole mini-batch
}


@contextmanager
def started(name: str) -> Iterator[WorkerProcess]:
    if not versions(framework(name)):
        pytest.skip(f"{name} is not installed")
    contender = Contender(framework=name, variant=VARIANT, device="cpu", threads=2)
    with WorkerProcess(sys.executable, contender, timeout_s=120) as worker:
        worker.send_open("float64", tf32=False)
        assert not worker.receive()["missing"]
        yield worker


def diagnosed(
    worker: WorkerProcess,
    workload: Workload,
    scratch: Path,
    state: Mapping[str, Deviation] = NOTHING,
) -> str:
    """What NumPy says of all losses, weights and first gradients."""
    script, out = Script.draw(workload), scratch / "recorded.npz"
    script.save(scratch / "script.npz")
    worker.ask(
        "record_run", workload=to_dict(workload), variant=VARIANT,
        script=str(scratch / "script.npz"), out=str(out),
    )  # fmt: skip
    return explain(script, RecordedRun.read(out), state).text


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.all] * (n != "pytorch")) for n in FRAMEWORKS]
)
def test_averaged_gradients_of_halves_are_those_of_the_whole(name: str, tmp_path: Path) -> None:
    """Unless a layer mixes samples."""
    state = declared_state(Trained(name, VARIANT), NORMALISED)
    with started(name) as worker:
        for kind, workload in ALIKE.items():
            assert diagnosed(worker, workload, tmp_path) == ALL_WELL, kind
        assert APART[name] in diagnosed(worker, NORMALISED, tmp_path, state)


@pytest.mark.all
def test_the_second_process_ends_with_the_first_and_another_follows_a_failure(
    tmp_path: Path,
) -> None:
    with started("pytorch") as worker:
        first = psutil.Process(worker.process.pid)
        assert diagnosed(worker, ALIKE["single"], tmp_path) == ALL_WELL
        (second,) = first.children()
        with pytest.raises(WorkerDied, match="Expected more than 1 value per channel"):
            diagnosed(worker, replace(NORMALISED, batch=2), tmp_path)
        assert diagnosed(worker, ALIKE["single"], tmp_path) == ALL_WELL
        (third,) = first.children()
        assert second != third and not second.is_running()
    assert not third.is_running()
    with started("pytorch") as worker:
        assert diagnosed(worker, ALIKE["single"], tmp_path) == ALL_WELL
        (second,) = psutil.Process(worker.process.pid).children()
        os.kill(worker.process.pid, signal.SIGKILL)
        psutil.wait_procs([second], timeout=10)
        assert not second.is_running() or second.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_one_thread_cannot_be_shared(name: str) -> None:
    with pytest.raises(Unavailable, match="a thread of the processor each, not 1 on the"):
        Trained(name, VARIANT).trainer(IMAGES)


def test_threads_of_a_second_process_count() -> None:
    with psutil.Popen([sys.executable, "-c", "input()"], stdin=-1) as second:
        assert str(second.pid) in processor_time()
        second.kill()
