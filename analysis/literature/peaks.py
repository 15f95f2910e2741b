"""The share of its processor's peak that each cell of Table 7 needs, if it trained the network
that it is named after.

Operations follow from the layers (`data/layers.csv`), by the rule of `Workload.flops_per_step`.
`data/definitions.csv` has the cells whose definition in the authors' repository
(github.com/hclhkbu/dlbench at 78d8a41) does other work than its name says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from analysis.literature.table7 import CPUS, HALF, Cell, readable, rows


@dataclass(frozen=True)
class Work:
    """Of a network: trained parameters, and multiply-adds of one sample's forward pass, in all
    layers and in the first, whose input needs no gradient."""

    parameters: int
    multiply_adds: int
    first: int

    def flops(self, samples: int) -> int:
        """Floating-point operations of the matrix work in one step."""
        return 2 * samples * (3 * self.multiply_adds - self.first)


@cache
def networks() -> Mapping[str, Work]:
    """By name. A layer works `positions` times on `inputs` numbers for each of its `outputs`;
    `more` are the parameters of each output besides, `times` the layers of this shape."""
    found: dict[str, Work] = {}
    for row in rows("layers.csv"):
        positions, inputs, outputs, more, times = (
            int(row[key]) for key in ("positions", "inputs", "outputs", "more", "times")
        )
        once = positions * inputs * outputs
        before = found.get(row["network"], Work(0, 0, once))
        found[row["network"]] = Work(
            before.parameters + times * outputs * (inputs + more),
            before.multiply_adds + times * once,
            before.first,
        )
    return found


@cache
def definitions() -> Mapping[tuple[str, str], dict[str, str]]:
    """By network and tool."""
    return {(row["network"], row["tool"]): row for row in rows("definitions.csv")}


@cache
def processors() -> Mapping[str, dict[str, str]]:
    """By device."""
    return {row["device"]: row for row in rows("processors.csv")}


def peak(device: str, threads: int | None) -> float:
    """Floating-point operations a second in float32, of as many cores as there are threads."""
    own = processors()[device]
    cores = int(own["cores"])
    if threads is not None:
        cores = min(cores, threads)
    return cores * float(own["gigahertz"]) * 1e9 * float(own["flops_per_cycle"])


@dataclass(frozen=True)
class Share:
    """What a cell needs of its processor's peak; `low` is the least that the rounding of its time
    allows. `defined` is the same for the definition in the authors' repository, None if that
    does the work of the name or was not read."""

    cell: Cell
    value: float
    low: float
    defined: float | None

    @property
    def exceeds(self) -> bool:
        return self.low > 1

    @property
    def impossible(self) -> bool:
        """Whether the processor cannot have done the work. On a GPU, convolutions may take fewer
        operations than are counted (Winograd), so that a share above 1 proves nothing."""
        return self.exceeds and self.cell.device in CPUS


def shares() -> list[Share]:
    """Of every readable cell."""
    return [share(cell) for cell in readable()]


def share(cell: Cell) -> Share:
    flops = networks()[cell.network].flops(cell.batch)
    most = peak(cell.device, cell.threads)
    own = definitions().get((cell.network, cell.tool))
    defined = networks()[own["layers"]].flops(int(own["samples"])) if own else None
    return Share(
        cell,
        flops / cell.time / most,
        flops / (cell.time + HALF) / most,
        None if defined is None else defined / cell.time / most,
    )
