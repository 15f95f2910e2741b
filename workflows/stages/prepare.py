"""Prepare a workload's mini-batches and initial weights, once for every contender."""

import argparse
import errno
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from frameworks.workloads import Workload, initial_weights, narrowed, to_dict
from frameworks.workloads.datasets import DataError, digits, normal, pixels, tokens
from frameworks.workloads.datasets import batches as stored
from frameworks.workloads.datasets.mnist import Images, MnistSettings, load
from frameworks.workloads.workload import DATASETS
from workflows.machine.guardian import interruptible
from workflows.machine.lock import machine_lock
from workflows.output import explained
from workflows.planning import names
from workflows.planning.needs import large
from workflows.planning.plan import PlanError, load_study, require_known
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.machine_records import DatasetRecord
from workflows.records.minutes import timed
from workflows.records.storage import RecordError, write_json
from workflows.records.whole_files import discard

WEIGHTS, WORKLOAD, RECORD, NARROW = "weights.npz", "workload.json", "dataset.json", "narrow"
OURS = {
    stored.INPUTS, stored.TARGETS, stored.PIXELS, WEIGHTS, WORKLOAD, RECORD, NARROW,
    ".snakemake_timestamp",
}  # fmt: skip
SLACK = 100_000  # bytes, for headers and the small files
FULL = (errno.ENOSPC, errno.EDQUOT)


def prepare(workload: Workload, folder: Path, seed: int, mnist: MnistSettings) -> DatasetRecord:
    """Fill `folder` with `inputs.npy`, `targets.npy`, `weights.npz`, `workload.json` and,
    last, `dataset.json`; and `pixels.npy` if inputs are made of pixels. `narrow/` gets the same
    for the narrow copy, if the workload has one.

    The folder is complete afterwards, or after an error as it was before. The same arguments give
    the same bytes.

    Raises:
        DataError: the data are missing, the disk is full, or the folder holds foreign files.
    """
    kind = workload.dataset.kind
    if kind not in DATASETS:
        known = ", ".join(DATASETS)
        raise DataError(f"workload {workload.name}: data set {kind!r} is not one of {known}")
    images = load(mnist, workload.dataset.samples) if kind == "mnist" else None
    copies = [(workload, draw(workload, images, seed))]
    if narrowed(workload) != workload:
        copies.append((narrowed(workload), draw(narrowed(workload), images, seed)))
    needed = sum(size(*copy) for copy in copies)
    folder = folder.resolve()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        require_space(workload, folder, needed)
        with replaced(folder) as temporary:
            for narrow in copies[1:]:
                write(temporary / NARROW, *narrow, seed)
            return write(temporary, *copies[0], seed)
    except OSError as error:
        if error.errno in FULL:
            raise DataError(disk_full(workload, folder, needed)) from error
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from error


def draw(workload: Workload, images: Images | None, seed: int) -> stored.Batches:
    if images:
        return digits.draw(workload, images, seed)
    if workload.dataset.words:
        return tokens.draw(workload, seed)
    if workload.dataset.kind == pixels.KIND:
        return pixels.draw(workload, seed)
    return normal.draw(workload, seed)


def write(folder: Path, workload: Workload, batches: stored.Batches, seed: int) -> DatasetRecord:
    folder.mkdir(exist_ok=True)
    digest = hashlib.sha256()
    stored.store(folder / stored.INPUTS, batches.inputs, digest)
    stored.store(folder / stored.TARGETS, batches.targets, digest)
    if batches.pixels:
        stored.store(folder / stored.PIXELS, batches.pixels, digest)
    np.savez(folder / WEIGHTS, allow_pickle=False, **initial_weights(workload, seed))
    (folder / WORKLOAD).write_text(json.dumps(to_dict(workload), indent=1) + "\n")
    record = DatasetRecord(
        workload=workload.name,
        source=batches.source,
        kind=batches.kind,
        samples=batches.samples,
        batches=batches.inputs.shape[0],
        seed=seed,
        sha256=digest.hexdigest(),
    )
    write_json(folder / RECORD, record)
    return record


def size(workload: Workload, batches: stored.Batches) -> int:
    columns = batches.inputs, batches.targets, batches.pixels
    return sum(one.bytes for one in columns if one) + 4 * workload.parameters + SLACK


def require_space(workload: Workload, folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder.parent).free
    if free < needed:
        raise DataError(disk_full(workload, folder, needed, free))


def disk_full(workload: Workload, folder: Path, needed: int, free: int | None = None) -> str:
    there = "" if free is None else f", but only {large(free)} are free there"
    return (
        f"disk full: workload {workload.name} needs {large(needed)} in {folder.parent}"
        f"{there}: make room or ask for fewer samples"
    )


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` that takes its place if the block succeeds.

    Its name is fixed, so that the next run removes what a killed run has left.
    """
    if folder.exists():
        foreign = sorted(path.name for path in folder.iterdir() if path.name not in OURS)
        if foreign:
            found = ", ".join(foreign[:3])
            raise DataError(f"{folder}: not replaced, because it also holds {found}")
    temporary = folder.with_name(f".{folder.name}.partial")
    former = folder.with_name(f".{folder.name}.former")
    for leftover in (temporary, former):
        discard(leftover)
    temporary.mkdir()
    try:
        yield temporary
        if folder.exists():
            folder.rename(former)
        temporary.rename(folder)
    finally:
        for leftover in (temporary, former):
            discard(leftover)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.stages.prepare", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--log", type=Path, help="also write there what was prepared")
    arguments = parser.parse_args()
    try:
        folders = Folders(arguments.study)
        study, folder = load_study(folders), folders.data / arguments.workload
        require_known("workload", arguments.workload, study.workloads)
        mnist = MnistSettings(**study.mnist.model_dump())
        spent = folders.spent(f"{arguments.workload}-prepare")
        title = f"data · {names.workload(arguments.workload)}"
        progress = Progress(1, title, log=arguments.log)
        with progress, machine_lock(progress.note), timed(spent):
            record = prepare(study.workload(arguments.workload), folder, study.seed, mnist)
            progress.note(f"{record.batches} mini-batches of {record.source}")
    except (RecordError, PlanError, DataError, OSError) as error:
        print(explained(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main))
