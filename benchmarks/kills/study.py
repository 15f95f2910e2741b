"""A small study in a folder of its own, as its processes and files look from outside."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import yaml
from filelock import FileLock, Timeout

from workflows.planning.code import ROOT

CODE = (
    "Snakefile", "pyproject.toml", "config", "profiles", "frameworks", "workflows", "analysis",
    "samestep",
)  # fmt: skip
PACKAGES = ROOT / "tests" / "packages"
CONFIGURATION: dict[str, Any] = {
    "study": "killed",
    "replicates": 3,
    "reference": "abacus",
    "contenders": [
        {"framework": "abacus", "variants": ["default", "slow"]},
        {"framework": "faulty", "variants": ["forks-a-daemon"]},  # and the daemon must go, too
    ],
    "devices": ["cpu"],
    "threads": [1],
    "workloads": {"mlp": {"features": 20, "hidden": [8], "samples": 400, "batch": 4}},
    "contest": {"warmup": 2, "rounds": 40, "turn": 10, "discard": 1},
    "controls": False,
    "noop": False,
    "machine_speed": False,
    "certificate": {"steps": 200, "optimisers": []},
}
SHORT: dict[str, Any] = {
    **CONFIGURATION,
    "replicates": 2,
    "contest": {"warmup": 2, "rounds": 10, "turn": 10, "discard": 1},
}
# With a loader, whose processes must go, too.
LOADING: dict[str, Any] = {
    **SHORT,
    "workloads": {
        "pictures": {
            "dataset": {"kind": "normal", "samples": 400, "shape": [8, 8, 1]},
            "batch": 4,
            "layers": ["flatten", {"dense": 8}, "relu", {"dense": 10}],
            "loss": "mean_squared_error",
            "optimiser": {"adam": {}},
        }
    },
    "loaders": ["processes-1"],
}
# With PyTorch's own loader, whose processes are forks of a worker.
FORKS: dict[str, Any] = {
    **LOADING,
    "reference": "pytorch",
    "contenders": [{"framework": "pytorch"}],
    "loaders": ["processes-1", "framework-1"],
}
# With a second worker, which PyTorch starts in a process of its own.
WORKERS: dict[str, Any] = {
    **SHORT,
    "reference": "pytorch",
    "contenders": [{"framework": "pytorch", "variants": ["default", "two-workers"]}],
    "threads": [2],
}
STUDIES = {"plain": CONFIGURATION, "loaders": LOADING, "forks": FORKS, "workers": WORKERS}
MARK = "SAMESTEP_KILLS"
RESULTS = ("detections/*.json", "data/*/dataset.json", "certificates/*/*.json", "contests/*/*")


class KilledStudy:
    """Everything is below `folder`: the clone, temporary files and the machine's lock."""

    def __init__(self, folder: Path, configuration: dict[str, Any] = CONFIGURATION) -> None:
        self.folder, self.clone = folder, folder / "clone"
        self.temporary, self.lock = folder / "temporary", folder / "machine.lock"
        self.clone.mkdir(parents=True)
        self.temporary.mkdir()
        copy_code(self.clone)
        self.replicates = configuration["replicates"]
        (self.clone / "config" / "study.yaml").write_text(yaml.safe_dump(configuration))
        packages = [str(PACKAGES / name) for name in ("abacus", "faulty")]
        self.variables = {
            **os.environ,
            MARK: str(folder),
            "PYTHONPATH": os.pathsep.join(packages),
            "SAMESTEP_MACHINE": "here",
            "SAMESTEP_LOCK": str(self.lock),
            "SAMESTEP_CACHE": str(folder / "cache"),
            "TMPDIR": str(self.temporary),
        }
        self.results = self.clone / "results" / "here" / "killed"

    def start(self, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", "1", *more],
            cwd=self.clone, env=self.variables, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    def processes(self) -> list[psutil.Process]:
        """All processes of the study that have not ended, whatever their parents."""
        return marked(MARK, str(self.folder))

    def finished(self) -> dict[Path, int]:
        """Results that Snakemake takes for complete and that have not failed, with their times."""
        noted = self.clone / ".snakemake" / "incomplete"
        begun = {decoded(path.relative_to(noted)) for path in noted.rglob("*") if path.is_file()}
        every = [path for pattern in RESULTS for path in self.results.glob(pattern)]
        return {
            path: path.stat().st_mtime_ns
            for path in every
            if path.suffix in (".json", ".parquet")
            and not path.name.startswith(".")
            and path.relative_to(self.clone).as_posix() not in begun
            and not any(row["status"] == "failed" for row in rows(path.with_suffix(".json")))
        }

    @property
    def complete(self) -> bool:
        return (self.results / "complete").exists()

    def gaps(self) -> list[str]:
        """What a complete study lacks."""
        found = []
        contests = sorted(self.results.glob("contests/*/*.json"))
        if len(contests) != self.replicates:
            found.append(f"{len(contests)} contests")
        for path in [*contests, *self.results.glob("certificates/*/*.json")]:
            found += [f"{path.name}: {row['variant']}: {row['status']} {row['reason']}"
                      for row in rows(path) if row["status"] not in ("ok", "agrees")]  # fmt: skip
        return found

    def left(self) -> Iterator[str]:
        """Temporary files that nobody will read, and the machine's lock if it is still held."""
        yield from (path.name for path in self.temporary.glob("samestep-*"))
        for folder in (self.clone / "results", self.clone / "reports"):
            yield from (path.name for path in folder.rglob(".*.partial"))
            yield from (path.name for path in folder.rglob(".*.former"))
        try:
            FileLock(self.lock).acquire(blocking=False).lock.release()
        except Timeout:
            yield "the machine's lock"

    def repeat(self, detections: bool) -> None:
        """Have the next run repeat failures that were the same as before, or all detections."""
        for path in self.results.rglob("detections/*.json" if detections else "*.failed"):
            path.unlink()

    def forget(self) -> None:
        """Begin from nothing."""
        for name in ("results", "reports", ".snakemake"):
            shutil.rmtree(self.clone / name, ignore_errors=True)

    def end(self) -> None:
        for process in self.processes():
            process.kill()


def copy_code(folder: Path) -> None:
    """Copy what a study runs, and nothing that was made from it."""
    for name in CODE:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)


def marked(variable: str, value: str) -> list[psutil.Process]:
    """Processes that have this in their environment and have not ended."""
    return [process for process in psutil.process_iter() if has(process, variable, value)]


def has(process: psutil.Process, variable: str, value: str) -> bool:
    try:
        own = process.environ().get(variable) == value
        return own and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def rows(path: Path) -> list[dict[str, Any]]:
    """The contenders in a record of a contest or a certificate; none in another record."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    parts = record.get("contests", [record])
    return [row for one in parts for row in one.get("contenders", one.get("rows", []))]


def decoded(name: Path) -> str:
    """The output that a note of Snakemake's is about."""
    try:
        return base64.urlsafe_b64decode("".join(name.parts).replace("@", "")).decode()
    except ValueError:
        return ""


def role(process: psutil.Process) -> str:
    words = process.cmdline()
    for name, text in ROLES.items():
        if text in words:
            if name == "stage":
                parent = process.parent()
                guarded = parent is not None and text in parent.cmdline()
                return "stage" if guarded else "guardian"
            return name
    return Path(words[0]).name if words else "a process"


ROLES = {"snakemake": "snakemake", "stage": "workflows.machine.guardian",
         "worker": "workflows.worker.worker"}  # fmt: skip


def gone_within(
    processes: list[psutil.Process], seconds: float
) -> tuple[float, list[psutil.Process]]:
    """How many seconds it took until all had ended, and the processes that have not."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        if not (processes := [p for p in processes if alive(p)]):
            break
        time.sleep(0.02)
    return time.monotonic() - begin, processes


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
