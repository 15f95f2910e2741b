"""The numbers of 2016 follow from the cells of Table 7."""

import statistics
from collections import Counter

import pytest

from analysis.literature.published.table7 import (
    LOST,
    cells,
    networks,
    over_the_fastest,
    processor_over,
    readable,
    spreads,
    threads_over,
    tool_over,
)
from analysis.literature.published.then import then


def test_every_cell_of_the_table_has_a_number_or_a_reason() -> None:
    assert len(cells()) == 7 * 5 * 13
    assert len({(c.network, c.tool, c.device, c.threads) for c in cells()}) == len(cells())
    empty = [cell for cell in cells() if cell.seconds is None]
    assert {cell.note for cell in empty} == {"not reported", "unreadable"}
    read = Counter(cell.note for cell in cells() if cell.seconds is not None)
    assert set(read) == {"", LOST, "recovered", "doubtful"}
    assert all(cell.note != LOST for cell in readable())


def test_tensorflow_over_torch() -> None:
    found = {(o.one.network, *o.one.column): o for o in tool_over("TensorFlow", "Torch")}
    first = found["FCN-S", "desktop-cpu", 1]
    assert (round(first.value, 3), round(first.low, 3), round(first.high, 3)) == (
        5.314,
        5.311,
        5.316,
    )
    coarse = found["FCN-S", "gtx-1080", None]  # 0.048 over 0.031: rounding shows
    assert (round(coarse.low, 3), round(coarse.high, 3)) == (1.508, 1.590)
    gpu = [o.value for (net, _, threads), o in found.items() if threads is None and net != "LSTM"]
    assert len(gpu) == 18 and min(gpu) == pytest.approx(1.235, abs=5e-4)
    assert max(gpu) == pytest.approx(7.372, abs=5e-4)
    assert found["LSTM", "desktop-cpu", 1].note == "recovered"


def test_how_far_tools_were_apart() -> None:
    """The 2016 half of the figure `spread`."""
    gpu = {o.one.network: o.value for o in spreads() if o.one.device == "gtx-1080"}
    assert gpu.keys() == set(networks())
    assert (min(gpu, key=gpu.__getitem__), round(min(gpu.values()), 2)) == ("FCN-R", 1.25)
    assert (max(gpu, key=gpu.__getitem__), round(max(gpu.values()))) == ("LSTM", 19)
    core = [o.value for o in spreads() if o.one.column == ("desktop-cpu", 1)]
    assert (round(min(core), 1), round(max(core))) == (1.6, 41)
    both = [o for o in spreads(("TensorFlow", "Torch")) if o.one.device == "gtx-1080"]
    assert len(both) == 7 and all(
        {o.one.tool, o.base.tool} == {"TensorFlow", "Torch"} for o in both
    )
    fastest = {o.one.column: o.one.tool for o in over_the_fastest() if o.value == 1}
    assert fastest["gtx-980", None] == "CNTK"  # of the last network, LSTM


def test_threads_and_gpus() -> None:
    two = [over.value for over in threads_over(2, 1)]
    assert len(two) == 52 and round(statistics.median(two), 2) == 0.68
    assert sum(value <= 0.55 for value in two) == 6 and round(min(two), 2) == 0.52
    known = [over.value for over in processor_over("gtx-1080") if "recovered" not in over.note]
    assert len(known) == 27 and sum(value >= 10 for value in known) == 23
    assert (round(min(known), 1), round(max(known))) == (3.1, 373)
    assert round(statistics.median(known)) == 22


def test_then_has_every_number_with_its_interval() -> None:
    rows = then()
    count = Counter(row.quantity for row in rows)
    assert count["tool over tool"] == len(tool_over("TensorFlow", "Torch")) == 75
    assert count["share of peak"] == count["over the fastest"] == len(readable())
    assert all(row.low < row.value < row.high for row in rows)
    assert all(row.band_low is None or row.band_low < row.low for row in rows)
    beside = [row for row in rows if row.quantity == "over the fastest" and "peak" in row.note]
    assert {(row.network, row.note.split()[0]) for row in beside} == {
        ("AlexNet-S", "Caffe"), ("AlexNet-S", "MXNet"), ("LSTM", "CNTK"), ("LSTM", "recovered;"),
    }  # fmt: skip
