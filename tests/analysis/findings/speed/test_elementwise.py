"""The figure of single operations by size: lines, floor, slope and what it says."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from analysis.data.reading import read
from analysis.findings.findings import Findings
from analysis.findings.speed.elementwise import ELEMENTWISE
from analysis.report.figures.measuring import elementwise
from analysis.report.figures.measuring.elementwise import PUBLISHED, operation_times
from analysis.report.figures.style import Figure, Theme
from tests.analysis.recipe import Recipe
from tests.conftest import ROOT

SIZES = [1024, 65536, 4194304]
NAMES = tuple(f"divide-size-{size}" for size in SIZES)
# PyTorch takes 20 µs for the call alone, TensorFlow 90, and both 1 ns an element.
CALL_MS = {"pytorch": 0.02, "tensorflow": 0.09}
SWEEP = Recipe(
    workloads=NAMES,
    variants=("default",),
    threads=(1,),
    together=True,
    process_sd=0.001,
    batch_sd=0.001,
    ms={
        (name, framework, "default"): max(call, size * 1e-6)
        for framework, call in CALL_MS.items()
        for name, size in zip(NAMES, SIZES, strict=True)
    },
    sweeps={"divide-size": {"from": "divide", "samples": 2, "sizes": {"elements": SIZES}}},
)


def draw(findings: Findings) -> Figure:
    figure = operation_times(findings, Theme.of(findings.matched), "operation_times")
    assert figure
    return figure


def canvas(findings: Findings, monkeypatch: pytest.MonkeyPatch) -> Canvas:
    kept: list[Canvas] = []
    monkeypatch.setattr(elementwise, "Figure", lambda drawn, *words: kept.append(drawn))
    operation_times(findings, Theme.of(findings.matched), "operation_times")
    return kept[0]


def test_floors_and_speeds_are_those_that_were_planted(found: Callable[[Recipe], Findings]) -> None:
    figure = draw(found(SWEEP))
    said = re.fullmatch(
        r"With 1,024 elements an operation takes (\d+) µs in PyTorch and (\d+) µs in TensorFlow. "
        r"With 4,194,304 it moves (\d+)(?: to (\d+))? GB/s.",
        figure.finding,
    )
    assert said, figure.finding
    assert [float(number or said[3]) for number in said.groups()] == pytest.approx(
        [1e3 * CALL_MS["pytorch"], 1e3 * CALL_MS["tensorflow"], 12, 12], rel=0.1
    )
    assert "4.2 M" in figure.svg and "TensorFlow" in figure.svg


def test_a_study_without_a_sweep_of_operations_has_no_such_figure(
    found: Callable[[Recipe], Findings],
) -> None:
    single = replace(SWEEP, workloads=("copy",), sweeps={}, ms={})
    for findings in (found(single), found(Recipe(replicates=2))):
        assert operation_times(findings, Theme.of(findings.matched), "operation_times") is None


def test_the_slope_is_the_memory_stream_and_the_published_size_is_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder,) = (ROOT / "reports" / "operations" / "machines").iterdir()
    findings = Findings(read(folder))
    rows = [row for row in ELEMENTWISE.of(findings) if row.id.workload.startswith("divide-size")]
    drawn = canvas(findings, monkeypatch)
    assert len(drawn.axes) == len({(row.id.device, row.id.threads) for row in rows})
    for axes in drawn.axes:
        lines = [(line.get_xdata(), line.get_ydata(), line.get_linestyle()) for line in axes.lines]
        assert sum(style == ":" for _, _, style in lines) == sum(
            len(x) == len({row.elements for row in rows}) for x, _, _ in lines
        )
        assert [x for x, *_ in lines if list(x) == [PUBLISHED] * 2]
        (slope,) = [np.divide(y, x) for x, y, _ in lines if len(x) == 2 and x[0] == 1024]
        streams = [row.gb_per_s / row.share for row in rows if row.share]
        assert slope == pytest.approx([12 / 1e3 / np.median(streams)] * 2, rel=0.3)
