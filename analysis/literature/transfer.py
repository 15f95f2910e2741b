"""How long moving numbers takes: to the device, inside its memory, and beside a network's step.

Times follow latency + bytes/bandwidth, fitted by least absolute deviations on the medians of all
sizes. The intervals of both are a bootstrap over replicates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from analysis.data.results import USUAL, BenchmarkId, Machine
from analysis.findings.speed.transferred import OPERANDS
from analysis.format import count, title
from analysis.literature.dots import legend
from analysis.literature.tables import tables_of
from analysis.report.figures.panels import logarithmic
from analysis.report.figures.style import PALETTE, Figure, bare, canvas
from analysis.report.prose import share, spread, workload
from frameworks.workloads import from_dict
from frameworks.workloads.workload import FLOAT32

STUDY = "transfer"
PUT, COPY, FILL = "put", "copy", "fill"
DIRECTIONS = {PUT: "brought to the device", COPY: "copied there", FILL: "filled there"}
BYTES_A_NUMBER = FLOAT32
DRAWS, SEED = 2000, 2016
LEVELS = (0.025, 0.975)


class Way(NamedTuple):
    """A direction, by one framework on one device."""

    direction: str
    framework: str
    device: str
    threads: int


@dataclass(frozen=True)
class TransferTime:
    """A row of transfer.csv: the median over replicates of the time for so many bytes."""

    direction: str
    framework: str
    device: str
    threads: int
    bytes: int
    median_us: float
    gb_s: float

    @property
    def way(self) -> Way:
        return Way(self.direction, self.framework, self.device, self.threads)


@dataclass(frozen=True)
class Bandwidth:
    """A row of bandwidth.csv: the line through the times of all sizes, and the 95 % intervals of
    its latency and of its bandwidth (`low`, `high`). `over_copy` is that bandwidth over that of
    `copy` under the same conditions."""

    direction: str
    framework: str
    device: str
    threads: int
    latency_us: float
    latency_low: float
    latency_high: float
    gb_s: float
    low: float
    high: float
    over_copy: float | None


@dataclass(frozen=True)
class TransferShare:
    """A row of transfer-shares.csv: bringing a mini-batch to the device, beside its step."""

    study: str
    workload: str
    framework: str
    variant: str
    device: str
    threads: int
    transfer_ms: float
    step_ms: float
    share: float


# Microseconds by the number of bytes, each a median of one replicate.
Sizes = Mapping[int, list[float]]
Ends = tuple[float, float, float]  # a value, and the ends of its interval


def times(machine: Machine) -> dict[Way, dict[int, list[float]]]:
    """Times of the operations `copy` and `fill` at all sizes, and of putting their operands."""
    found: dict[Way, dict[int, list[float]]] = {}
    works = {one.name: from_dict(one.description) for one in machine.records.workloads}
    batches = machine.batches
    steady = batches[batches["variant"].isin(USUAL) & ~batches["warmup"]]
    key: Any
    for key, own in steady.groupby([*BenchmarkId._fields, "replicate"]):
        one = BenchmarkId(*key[:-1])
        operation = works[one.workload].elementwise
        if not operation or operation.kind not in (COPY, FILL):
            continue
        size = BYTES_A_NUMBER * works[one.workload].outputs
        for direction, column, moved in (
            (operation.kind, "step_ms", size * operation.repeat),
            (PUT, "transfer_ms", OPERANDS * size),
        ):
            way = Way(direction, one.framework, one.device, one.threads)
            own_times = found.setdefault(way, {}).setdefault(moved, [])
            own_times.append(1e3 * float(own[column].median()))
    return found


def moved(found: Mapping[Way, Sizes]) -> list[TransferTime]:
    """By direction, of the frameworks that have a colour."""
    return [
        TransferTime(*way, size, middle, size / middle / 1e3)
        for way, sizes in sorted(found.items(), key=lambda item: order(item[0]))
        if way.framework in PALETTE
        for size in sorted(sizes)
        for middle in [median(sizes[size])]
    ]


def bandwidths(found: Mapping[Way, Sizes]) -> list[Bandwidth]:
    lines = {way: fitted(sizes) for way, sizes in found.items() if len(sizes) > 1}
    rows = []
    for way in sorted(lines, key=order):
        latency, speed = lines[way]
        copied = lines.get(way._replace(direction=COPY))
        over = speed[0] / copied[1][0] if copied else None
        rows.append(Bandwidth(*way, *latency, *speed, over))
    return rows


def fitted(sizes: Sizes) -> tuple[Ends, Ends]:
    """Latency in microseconds and bandwidth in GB/s, each with the ends of its interval."""
    ordered = sorted(sizes)
    own = [np.array(sizes[size]) for size in ordered]
    generator = np.random.default_rng(SEED)
    drawn = [[generator.choice(values, len(values)) for values in own] for _ in range(DRAWS)]
    medians = [np.median([one[place] for one in drawn], axis=1) for place in range(len(ordered))]
    constants, slopes = lines(ordered, np.stack(medians, axis=1))
    latency, slope = line(ordered, [float(np.median(values)) for values in own])
    return (latency, *ends(constants)), (1 / slope / 1e3, *ends(1 / slopes / 1e3))


def ends(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, LEVELS)
    return float(low), float(high)


def line(sizes: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    constants, slopes = lines(sizes, np.array([values]))
    return float(constants[0]), float(slopes[0])


def lines(sizes: Sequence[int], values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Constant and slope with the least sum of absolute deviations, for each row of `values`
    (draws, sizes). The best line goes through two of the points, so these are tried. Lines with a
    negative constant or no positive slope count only if there is no other."""
    x = np.array(sizes, float)
    one, other = np.transpose([*combinations(range(len(x)), 2)])
    slopes = (values[:, other] - values[:, one]) / (x[other] - x[one])
    constants = values[:, one] - slopes * x[one]
    off = np.abs(constants[..., None] + slopes[..., None] * x - values[:, None]).sum(axis=-1)
    refused = (constants < 0) | (slopes <= 0)
    off[refused & ~refused.all(axis=1, keepdims=True)] = np.inf
    best = off.argmin(axis=1)
    row = np.arange(len(values))
    return constants[row, best], slopes[row, best]


def order(way: Way) -> tuple[int, int, str, int, str]:
    place = list(PALETTE).index(way.framework) if way.framework in PALETTE else len(PALETTE)
    return list(DIRECTIONS).index(way.direction), place, way.device, way.threads, way.framework


def shares(report: Path) -> list[TransferShare]:
    """The share of each step in a report that bringing a mini-batch to the device takes.

    Raises:
        RecordError: the report has neither tables nor records.
    """
    found = []
    for row in tables_of(report)["contenders"]:
        if row["variant"] in USUAL and row["transfer_ms"] and row["step_ms"]:
            put, step = float(row["transfer_ms"]), float(row["step_ms"])
            found.append(
                TransferShare(report.name, row["workload"], row["framework"], row["variant"],
                      row["device"], int(row["threads"]), put, step, put / (put + step))
            )  # fmt: skip
    return found


def figure(
    rows: Sequence[TransferTime], lines: Sequence[Bandwidth], beside: Sequence[TransferShare]
) -> Figure:
    frameworks = [own for own in PALETTE if any(row.framework == own for row in rows)]
    most = max(row.threads for row in rows)
    with canvas(1.4 + 1.6 * len(DIRECTIONS)) as drawn:
        panels = drawn.subplots(len(DIRECTIONS), sharex=True, sharey=True)
        for axes, (direction, words) in zip(panels, DIRECTIONS.items(), strict=True):
            for way in dict.fromkeys(row.way for row in rows if row.direction == direction):
                own = [row for row in rows if row.way == way]
                axes.plot(
                    [row.bytes for row in own], [row.gb_s for row in own], marker="o", markersize=3,
                    color=PALETTE[way.framework], linewidth=1.3,
                    linestyle="-" if way.threads == most else "--",
                )  # fmt: skip
            axes.set_title(words)
            axes.set_ylabel("GB/s")
            axes.set_xscale("log", base=2)
            bare(axes)
        logarithmic(panels[0], "y")  # of all
        sizes = sorted({row.bytes for row in rows})[::2]
        panels[-1].set_xticks(sizes, [written(size) for size in sizes])
        panels[-1].minorticks_off()
        panels[-1].set_xlabel("bytes")
        legend(drawn, [(title(own), PALETTE[own], PALETTE[own]) for own in frameworks])
        return Figure(
            drawn,
            "transfer",
            "Moving numbers, and working on them",
            "Bytes a second by the number of bytes: vectors brought to the device, copied there, "
            f"filled there. Solid: {count(most, 'thread')}; dashed: one. On a processor, the "
            "device's memory is the host's. [Latencies and bandwidths](bandwidth.csv). Beside the "
            "steps of networks: [transfer-shares.csv](transfer-shares.csv). Logarithmic axes.",
            "Lines of bytes a second over the number of bytes, by direction.",
            finding(lines, beside),
            inlined=False,
        )


def finding(lines: Sequence[Bandwidth], beside: Sequence[TransferShare]) -> str:
    said = []
    over = [row.over_copy for row in lines if row.direction == PUT and row.over_copy]
    if over:
        said.append(
            f"Bringing numbers to the device reaches {spread(min(over), max(over))} times the "
            "bytes a second of copying them there."
        )
    if beside:
        largest = max(beside, key=lambda row: row.share)
        said.append(
            f"In a step of a network it takes at most {share(largest.share)} "
            f"({title(largest.framework)} on {workload(largest.workload)})."
        )
    return " ".join(said)


def written(size: int) -> str:
    """`4 kB`, in units of 1,024."""
    kilo = size // 1024
    return f"{kilo} kB" if kilo < 1024 else f"{kilo // 1024} MB"
