"""What a study needs of memory and disk, roughly, and what this machine has of both.

The estimates are for people. A study is refused only if not even the least that it needs is there:
the numbers that its processes hold at the same time, and the files that it writes.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple

import psutil  # type: ignore[import-untyped]

from frameworks.workloads import Workload, leaves, narrowed
from frameworks.workloads.sweeps import members
from workflows.machine.fingerprint import available_cores
from workflows.planning.configuration import MOST, Configuration
from workflows.planning.isolated import environment, environments_folder, isolated
from workflows.planning.plan import (
    PlannedContender,
    contenders,
    controls,
    loaded,
    running,
    uncompared,
)
from workflows.records.columns import RANGES
from workflows.records.folders import Folders
from workflows.records.limits import ALL_ROWS, ROWS, TURNS
from workflows.records.storage import BYTES

FLOAT32, FLOAT64 = 4, 8
# Measured in committed studies on two cores, at the processes' peaks.
PROCESS_BYTES = 350e6  # Python and a framework
COPIES = 3.0  # of weights, gradients and the optimiser's state
PASSED = 2.0  # copies of the activations of a step
COMPARED = 2  # copies of weights in float64 beside each worker of a certificate
WEIGHTS_KEPT = 7  # steps after which the reference's weights are kept
LEAST_BYTES = 30e6  # of any process: Python and NumPy
LOGS_BYTES = 50e6
ENVIRONMENT_BYTES = 0.5e9, 1.6e9  # of an isolated environment without CUDA
ROW_BYTES = 100  # of a mini-batch, in both of its tables
# Of records as they are written, measured in committed studies: of a contender in a contest, beside
# its turns; of a turn in the contest's own file, and in an order; of a number in a certificate.
CONTENDER_BYTES, TURN_BYTES, NAME_BYTES, NUMBER_BYTES = 900, 500, 30, 17
OF_TENSOR, OF_STEP = 20, 2  # numbers in a certificate
TEMPORARY_BYTES, SNAKEMAKE_BYTES, REPORT_BYTES = 10e6, 5e6, 2e6  # at the least
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Needs(NamedTuple):
    """Bytes: of `memory` by estimate and at the `least`, of a process that trains the `largest`
    workload `alone` here, of `disk` for the results, of `temporary` files, and of isolated
    `environments` in the cache, at the least and at most."""

    memory: float
    least: float
    largest: str
    alone: float
    disk: float
    temporary: float
    environments: tuple[float, float]


class Recorded(NamedTuple):
    """Something of which readers accept `most`: `fixed`, and `each` for a replicate. `key` is the
    key of the configuration that may ask for too much."""

    key: str
    what: str
    fixed: float
    each: float
    most: float


def needs(study: Configuration, folders: Folders) -> Needs:
    """What the largest contest or certificate holds in memory, and what the whole study writes."""
    workloads = {name: study.workload(name) for name in study.workloads}
    own = running(study)
    able = [one for one in own if not one.missing]
    other = [*controls(study, able), *loaded(study, able), *uncompared(study, able)]
    processes = len({one.process for one in [*able, *other]})
    groups = [[workloads[name] for name in group] for group in study.groups.values()]
    count = len(able)
    here = any(one.on_host for one in own)  # a GPU holds activations itself
    batches = sum(mini_batches(workload) for workload in workloads.values())
    least = processes * LEAST_BYTES + max(
        count * sum(map(state, group)) + here * max(map(saved_activations, group))
        for group in groups
    )
    memory = processes * PROCESS_BYTES + batches
    memory += count * max(
        COPIES * sum(map(state, group)) + here * PASSED * max(map(activations, group))
        for group in groups
    )
    memory = max(memory, certified(workloads.values(), able))
    rows = len([*own, *other]) * len(workloads) * (study.replicates or 10)
    rows *= study.contest.warmup + study.contest.rounds * study.contest.turn
    disk = LOGS_BYTES + ROW_BYTES * rows
    for name, workload in workloads.items():
        if not folders.dataset(name).exists():
            disk += prepared(workload)
        if not folders.reference(name).exists():
            disk += reference_results(study, name, workload)
    wanted = {entry.framework for entry in study.contenders}
    uncertified = (
        reference_results(study, name, workload)
        for name, workload in workloads.items()
        if not all(folders.certificate(name, one).exists() for one in wanted)
    )
    temporary = TEMPORARY_BYTES + max(uncertified, default=0.0)
    missing = [n for n in wanted if isolated(study, n) and not environment(n).python.exists()]
    few, many = (len(missing) * size for size in ENVIRONMENT_BYTES)
    alone = {name: LEAST_BYTES + state(w) + saved_activations(w) for name, w in workloads.items()}
    largest = max(alone, key=alone.__getitem__)
    return Needs(memory, least, largest, here * alone[largest], disk, temporary, (few, many))


def certified(workloads: Iterable[Workload], able: Sequence[PlannedContender]) -> float:
    """Bytes of memory that the largest certificate holds. All contenders of a framework keep their
    processes, and as many as there are cores train in float64 at the same time."""
    count = max(Counter(one.framework for one in able).values(), default=0)
    largest = max(
        FLOAT64 * COMPARED * one.parameters
        + FLOAT64 / FLOAT32 * (COPIES * state(one) + PASSED * activations(one))
        for one in workloads
    )
    return count * PROCESS_BYTES + min(count, len(available_cores())) * largest


def recorded(study: Configuration, cores: int | None = None) -> Iterator[Recorded]:
    """What the records of a study hold on this machine, or on one with so many `cores`, if all
    contenders can run."""
    every = contenders(study, cores or len(available_cores()))
    own = [one for one in every if not one.missing]
    number = len([*own, *controls(study, own), *loaded(study, own), *uncompared(study, own)])
    deal, largest = study.contest, max(map(len, study.groups.values()))
    rows, turns = deal.warmup + deal.rounds * deal.turn, deal.rounds + 1
    shared, whole = largest * number, len(study.workloads) * number
    own_file = CONTENDER_BYTES + turns * (TURN_BYTES + NAME_BYTES)
    certified = sum(certificates(study, name, len(own)) for name in study.workloads)
    yield Recorded(
        "contenders", "contenders in a contest, with controls", number, 0, RANGES["position"][1]
    )
    yield Recorded("contest", "mini-batches in a contest", shared * rows, 0, ROWS)
    yield Recorded("contest", "bytes in the record of a contest", shared * own_file, 0, BYTES)
    yield Recorded("certificate", "bytes in certificates", certified, 0, BYTES)
    yield Recorded("replicates", "mini-batches", 0, whole * rows, ALL_ROWS)
    yield Recorded("replicates", "turns", 0, whole * turns, TURNS)
    each = whole * (CONTENDER_BYTES + turns * NAME_BYTES)
    yield Recorded("replicates", "bytes in records", certified, each, BYTES)


def room(study: Configuration, cores: int | None = None) -> int:
    """The most replicates whose records can be read."""
    found = ((one.most - one.fixed) // one.each for one in recorded(study, cores) if one.each)
    return int(min(found, default=MOST))


def certificates(study: Configuration, name: str, rows: int) -> float:
    """Bytes of a workload's certificates, with a row for each contender."""
    workload = study.workload(name)
    steps = study.certificate.allowed(workload).steps * (1 + len(study.other_optimisers(name)))
    numbers = OF_STEP * steps + OF_TENSOR * len(workload.tensor_shapes)
    return float(rows * NUMBER_BYTES * numbers)


def state(workload: Workload) -> float:
    """Weights, their gradients and the optimiser's state, at the least."""
    return FLOAT32 * workload.parameters * (2 + workload.optimiser.slots)


def activations(workload: Workload) -> float:
    """The outputs of all layers in a step."""
    numbers = sum(prod(stage.output_shape) for stage in leaves(workload.stages))
    return float(FLOAT32 * workload.batch * numbers)


def saved_activations(workload: Workload) -> float:
    """The inputs of trained layers, at the least: gradients need them. A shortcut may share its
    input with the other path."""
    trained = (
        stage
        for stage in leaves(workload.stages)
        if stage.parameter_shapes and ".shortcut." not in stage.name
    )
    return float(FLOAT32 * workload.batch * sum(prod(stage.input_shape) for stage in trained))


def mini_batches(workload: Workload) -> float:
    targets = 1 if workload.dataset.classes else workload.outputs
    sample = FLOAT32 * (prod(workload.dataset.shape) + targets)
    return float(workload.batches * workload.batch * sample)


def prepared(workload: Workload) -> float:
    """Bytes of the data set and the first weights, and those of the narrow copy."""
    copies = {workload, narrowed(workload)}
    return sum(mini_batches(one) + FLOAT32 * one.parameters for one in copies)


def reference_results(study: Configuration, name: str, workload: Workload) -> float:
    """Bytes of the reference's weights in float64. A contender's take as much for a while."""
    narrow = narrowed(workload)
    runs = 2 + len(study.other_optimisers(name))
    whole = 3 if narrow != workload else 1
    kept = runs * WEIGHTS_KEPT * narrow.parameters + whole * workload.parameters
    return float(FLOAT64 * kept)


def memory_here() -> float:
    """Bytes of memory that processes may use: the machine's, or the limit of a container."""
    found = float(psutil.virtual_memory().total)
    for path in LIMITS:
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            found = min(found, float(text))
    return found


def there(folder: Path) -> Path:
    """The folder, or its closest parent that exists."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return place


def disk_here(folder: Path) -> float:
    """Bytes that are free where a folder is, or will be."""
    return float(shutil.disk_usage(there(folder)).free)


def places(
    asked: Needs, folders: Folders, snakemake: bool = True
) -> Iterator[tuple[Path, float, str]]:
    """Places that a study writes to, the results last; the bytes that it writes there, and what to
    do if there is no room. The results' bytes include those of all places on their file system.
    `snakemake`: whether Snakemake runs the study."""
    disk, own = asked.disk, there(folders.root).stat().st_dev
    beside = [
        (Path(tempfile.gettempdir()), asked.temporary, "set TMPDIR to another disk"),
        (Path("reports", folders.root.name), REPORT_BYTES, "work on another disk"),
    ]
    if snakemake:
        beside.append((Path(".snakemake"), SNAKEMAKE_BYTES, "work on another disk"))
    for place, size, remedy in beside:
        elsewhere = there(place).stat().st_dev != own
        disk += 0 if elsewhere else size
        yield place, size if elsewhere else 0, remedy
    yield folders.root, disk, "ask for fewer samples"


def said(asked: Needs, folders: Folders) -> str:
    """`up to 13 GB of memory, of 24 GB here; 1.5 GB of disk, of 30 GB free`"""
    few, many = map(large, asked.environments)
    place = environments_folder()
    *_, (_, disk, _) = places(asked, folders)
    return (
        f"up to {large(asked.memory)} of memory, of {large(memory_here())} here; "
        f"{large(disk)} of disk, of {large(disk_here(folders.root))} free"
        + f"; {few} to {many} for environments in {place}, of {large(disk_here(place))} free"
        * bool(asked.environments[1])
    )


def doubtful(asked: Needs) -> str:
    """A warning if the estimate exceeds the memory here, "" if it does not."""
    here = memory_here()
    return (asked.memory > here) * (
        f"{large(here)} of memory may be too little, and processes may be killed. Use smaller "
        "networks or fewer contenders, or let fewer workloads share a contest (contest.together)."
    )


def shortages(
    study: Configuration, asked: Needs, folders: Folders, snakemake: bool
) -> Iterator[str]:
    """What this machine has too little of for the study, and what to do."""
    memory = memory_here()
    if asked.alone > memory:
        yield (
            f"{key_of(study, asked.largest)}: a process that trains {asked.largest} holds "
            f"{large(asked.alone)} at least, with weights, gradients, optimiser state and "
            f"activations, and {large(memory)} of memory are here. Use a smaller network or "
            "smaller mini-batches."
        )
    elif asked.least > memory:
        yield (
            f"contest.together: the processes of a contest hold {large(asked.least)} at least, "
            f"with weights, gradients, optimiser state and activations, and {large(memory)} of "
            "memory are here. Make smaller contests, or leave contenders or workloads out."
        )
    for place, size, remedy in places(asked, folders, snakemake):
        if not os.access(there(place), os.W_OK):
            yield f"{place}: nothing can be written there. Make it writable, or work elsewhere."
        if size > (free := disk_here(place)):
            yield (
                f"{place}: the study writes {large(size)}, and {large(free)} are free there. Make "
                f"room, or {remedy}."
            )
    place = environments_folder()
    if asked.environments[0] > (free := disk_here(place)):
        yield (
            f"{place}: isolated environments take {large(asked.environments[0])} at least, and "
            f"{large(free)} are free there. Make room, or set SAMESTEP_CACHE to another disk."
        )


def key_of(study: Configuration, workload: str) -> str:
    """The key of the configuration that has this workload, or the sweep that it belongs to."""
    swept = (name for name, entry in study.sweeps.items() if workload in members(name, entry))
    return next((f"sweeps.{name}" for name in swept), f"workloads.{workload}")


def large(size: float) -> str:
    """`7 GB`, `0.5 GB`, `30 MB`, `4 kB`"""
    if size < 95e4:
        return f"{size / 1e3:.0f} kB"
    if size < 95e6:
        return f"{max(size / 1e6, 1):.0f} MB"
    return f"{size / 1e9:.1f} GB" if size < 9.5e9 else f"{size / 1e9:,.0f} GB"
