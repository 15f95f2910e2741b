"""The numbers of 2016 that figures compare with today's: a row of `then.csv` each."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields

from analysis.literature.published import peaks, table7
from analysis.literature.published.table7 import Cell, Over
from analysis.stats.inference import Verdict

# PyTorch differed from itself by this factor, either way, on mnist-cnn, when its processes were
# measured one after the other, as in 2016.
ITSELF = 1.24
BOTH = ("TensorFlow", "Torch")  # compared with today's TensorFlow and PyTorch
GPU_OF_2016 = "gtx-1080"


@dataclass(frozen=True)
class Then:
    """`low` and `high`: the interval that the table's rounding leaves open. `band_low` and
    `band_high`: a factor of `ITSELF` beyond it, for all quantities except shares of the peak. A
    band that contains 1 does not say who was faster. `note`: what is uncertain about the cells."""

    quantity: str
    network: str
    tool: str
    against: str
    device: str
    threads: int | None
    value: float
    low: float
    high: float
    band_low: float | None
    band_high: float | None
    note: str


COLUMNS = [field.name for field in fields(Then)]


def ratio(quantity: str, over: Over, against: str) -> Then:
    ends = (over.low, over.high, *band(over))
    return Then(quantity, *named(over.one, against), over.value, *ends, doubts(over))


def band(over: Over) -> tuple[float, float]:
    """What rounding leaves open, and `ITSELF` beyond it."""
    return over.low / ITSELF, over.high * ITSELF


def verdict(low: float, high: float) -> Verdict:
    """On the first of two tools, from the ends of a band."""
    return "slower" if low > 1 else "faster" if high < 1 else "cannot tell"


def doubts(over: Over) -> str:
    """What is uncertain about either cell."""
    cells = dict.fromkeys([over.one, over.base])
    return "; ".join(filter(None, [over.note, *map(above, cells)]))


def named(cell: Cell, against: str) -> tuple[str, str, str, str, int | None]:
    return cell.network, cell.tool, against, cell.device, cell.threads


def above(cell: Cell) -> str:
    """The note for a cell that exceeds its processor's peak, else ""."""
    return f"{cell.tool} exceeds the peak" if peaks.share(cell).exceeds else ""


def then() -> list[Then]:
    return [*ratios(), *shares()]


def ratios() -> Iterator[Then]:
    for over in table7.tool_over(*BOTH):
        yield ratio("tool over tool", over, "Torch")
    for over in table7.over_the_fastest():
        yield ratio("over the fastest", over, over.base.tool)
    for over in table7.spreads():
        yield ratio("slowest over fastest of five", over, over.base.tool)
    for over in table7.spreads(BOTH):
        yield ratio("slower over faster of TensorFlow and Torch", over, over.base.tool)
    for over in table7.threads_over(2, 1):
        yield ratio("two threads over one", over, "1 thread")
    for over in table7.processor_over(GPU_OF_2016):
        yield ratio("best processor cell over GPU", over, GPU_OF_2016)


def shares() -> Iterator[Then]:
    for share in peaks.shares():
        cell = share.cell
        high = share.value * cell.time / (cell.time - table7.HALF)
        note = "; ".join(filter(None, [cell.note, above(cell)]))
        ends = (share.low, high, None, None)
        yield Then("share of peak", *named(cell, ""), share.value, *ends, note)


def values(row: Then) -> list[str]:
    """The row as text: numbers with four significant digits, one more than the table has."""
    return [
        f"{one:.4g}" if isinstance(one, float) else "" if one is None else str(one)
        for one in astuple(row)
    ]
