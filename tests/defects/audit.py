"""The audit of settings: it catches defects that change no number, which no certificate sees."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from analysis.findings.fairness.checklist import CHECKLIST
from analysis.findings.fairness.settings import SILENT, agree, spoken
from frameworks.contract import Setting
from workflows.planning.plan import PlannedContender
from workflows.records.folders import Folders
from workflows.worker.process import WorkerProcess

Settings = dict[str, Setting]
Key = tuple[str, str]  # framework and variant


def mismatches(
    reference: PlannedContender,
    contenders: Mapping[Key, PlannedContender],
    workload: str,
    folders: Folders,
) -> Iterator[tuple[Key, str]]:
    """The settings of each contender that do not match the reference's, in words; "" if all do."""
    with opened(reference, folders) as worker:
        right = settings(worker, reference, workload, folders)
    for name in {name for name, _ in contenders}:
        own = {key: contender for key, contender in contenders.items() if key[0] == name}
        with opened(next(iter(own.values())), folders) as worker:
            for key, contender in own.items():
                yield key, unlike(settings(worker, contender, workload, folders), right)


@contextmanager
def opened(contender: PlannedContender, folders: Folders) -> Iterator[WorkerProcess]:
    log = folders.logs / f"{contender.framework}-settings.log"
    with WorkerProcess(contender.interpreter, contender, log=log) as worker:
        worker.send_open(precision="float32", tf32=False)
        worker.receive()
        yield worker


def settings(
    worker: WorkerProcess, contender: PlannedContender, workload: str, folders: Folders
) -> Settings:
    worker.ask("load", folder=str((folders.data / workload).resolve()))
    worker.ask("build", variant=contender.variant)
    found: Settings = worker.ask("settings")["settings"]
    return found


def unlike(own: Settings, right: Settings) -> str:
    names = [name for item in CHECKLIST if item.rule == "matched" for name in item.settings]
    tolerance = {name: item.tolerance for item in CHECKLIST for name in item.settings}
    pairs = {name: (spoken(own.get(name, "n/a")), spoken(right.get(name, "n/a"))) for name in names}
    return "; ".join(
        f"mismatched setting {name}: {mine}, the reference's is {other}"
        for name, (mine, other) in pairs.items()
        if not mine.startswith(SILENT) and not other.startswith(SILENT)
        and not agree(mine, other, tolerance[name])
    )  # fmt: skip
