"""How steps use the machine: memory, page faults, and how far each contender is from what the
machine's own matrix product and memory stream reached in the same rounds. That limit is the
roofline of Williams, Waterman and Patterson (2009)."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from analysis.data.results import BenchmarkId, Machine
from analysis.findings.findings import Findings, Table, added
from analysis.findings.speed.machine_speed import SPEED
from frameworks.workloads import from_dict, leaves
from frameworks.workloads.layers import Conv2D

# STREAM counts what a triad reads and writes. A cache also reads a line before it is written, so
# four bytes pass for every three that are counted. An optimiser reads what it writes.
PASSED = 4 / 3
# Times the speed of the machine's matrix product that steps may reach, with and without
# convolutions: Winograd's algorithm saves as much, and nothing else does.
FASTER, PLAIN = 2.25, 1.5
# A quarter of the steps of a single process may be that many times as fast again.
UNEVEN = 1.5
ARITHMETIC, MEMORY = "arithmetic", "memory traffic"


@dataclass(frozen=True)
class Limit:
    """`compute_ms` is what the step's FLOP take at the speed of the machine's matrix product
    (`product`, GFLOP/s), and `memory_ms` what its least bytes take at the speed of its stream
    (`stream`, GB/s, with the reads before writes: `PASSED` times what machine_speed.csv counts).
    The longer one binds. `share` is that time over the contender's median time; it may exceed 1,
    because neither computation is the fastest possible. `flop_per_byte` is the step's intensity,
    and `gflop_per_s` what the contender reached. All are None if the machine took no turns."""

    product: float | None = None
    stream: float | None = None
    compute_ms: float | None = None
    memory_ms: float | None = None
    flop_per_byte: float | None = None
    gflop_per_s: float | None = None
    share: float | None = None
    binds: str = ""

    @property
    def ms(self) -> float:
        return max(self.compute_ms or 0.0, self.memory_ms or 0.0)


@dataclass(frozen=True)
class UseLine:
    """A row of use.csv; None if the records lack a number. `faults` are minor page faults of a
    mini-batch, and `major_faults` those that waited for a disk. `peak_mib` is the most memory of
    the process during its turns, with all workloads of the contest, and `idle_mib` what it had
    before any workload."""

    COLUMNS: ClassVar = (
        "machine workload device threads variant framework median_ms compute_ms memory_ms "
        "flop_per_byte gflop_per_s binds share faults major_faults peak_mib idle_mib"
    )

    id: BenchmarkId
    median_ms: float
    limit: Limit
    faults: float | None
    major_faults: float | None
    peak_mib: float | None
    idle_mib: float | None

    @property
    def own_mib(self) -> float | None:
        """The peak without Python, NumPy and the framework."""
        if self.peak_mib is None or self.idle_mib is None:
            return None
        return self.peak_mib - self.idle_mib


def use_lines(findings: Findings) -> list[UseLine]:
    """Contenders that have a time, in studies that recorded any of this."""
    speeds = {
        (line.workload, line.threads, line.variant): line.speed
        for line in SPEED.of(findings)
        if line.replicate is None and line.speed
    }
    lines = []
    for row in findings.contenders:
        if (ms := row.time.value) is not None:
            own = {name: speeds.get((row.id.workload, row.id.threads, name))
                   for name in ("product", "stream")}  # fmt: skip
            limit = limit_of(findings.machine, row.id, ms, **own)
            line = UseLine(row.id, ms, limit, *memory(findings.machine, row.id))
            if limit.share or line.peak_mib is not None:
                lines.append(line)
    return lines


def limit_of(
    machine: Machine, one: BenchmarkId, ms: float, product: float | None, stream: float | None
) -> Limit:
    """The limit from the machine's speeds in GFLOP/s and GB/s. A single operation, which has no
    parameters, is compared with the stream in a table of its own."""
    work = machine.workload(one.workload)
    if not one.on_host or not product or not stream or not work.parameters:
        return Limit()
    compute_ms = work.flops_per_step / product / 1e6
    memory_ms = work.bytes_per_step / (PASSED * stream) / 1e6
    return Limit(
        product=product,
        stream=PASSED * stream,
        compute_ms=compute_ms,
        memory_ms=memory_ms,
        flop_per_byte=work.flops_per_step / work.bytes_per_step,
        gflop_per_s=work.flops_per_step / ms / 1e6,
        share=max(compute_ms, memory_ms) / ms,
        binds=ARITHMETIC if compute_ms >= memory_ms else MEMORY,
    )


def memory(machine: Machine, one: BenchmarkId) -> tuple[float | None, ...]:
    """Faults, major faults, peak and idle memory of one benchmark."""
    contests, name = machine.contests(one.workload).values(), one.contender
    turns = [
        [turn for turn in contest.turns if turn.contender == name and turn.round]
        for contest in contests
    ]
    peaks = [[turn.peak_mib for turn in own if turn.peak_mib] for own in turns]
    idle = [c.idle_mib for contest in contests for c in contest.contenders
            if c.name == name]  # fmt: skip
    return (
        middle(turn.minor_faults for own in turns for turn in own),
        middle(turn.major_faults for own in turns for turn in own),
        middle(max(own) for own in peaks if own),
        middle(idle),
    )


def too_fast(findings: Findings) -> dict[BenchmarkId, float]:
    """Contenders that compute faster than the machine can, at least in a quarter of the steps of a
    process, and how many times as fast as its matrix product."""
    machine = findings.machine
    plain = {
        work.name
        for work in machine.records.workloads
        if not any(isinstance(s.layer, Conv2D) for s in leaves(from_dict(work.description).stages))
    }
    found = {}
    for line in machine.matched_rows(USE.of(findings)):
        most = PLAIN if line.id.workload in plain else FASTER
        compute_ms = line.limit.compute_ms or 0.0
        times = compute_ms / line.median_ms
        alone = compute_ms / float(findings.measured[line.id]["q25"].min())
        if times > most or alone > UNEVEN * most:
            found[line.id] = max(times, alone)
    return found


def middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


USE = added("use", Table(UseLine, use_lines, optional=True))
