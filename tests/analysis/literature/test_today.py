"""Today beside 2016: only certified rows, with the numbers of Table 7 and of the layers."""

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.data.results import BenchmarkId, grouped
from analysis.literature.judging.double_ratios import SECOND as THREADS
from analysis.literature.page import first_of, page
from analysis.literature.published.peaks import impossible, networks
from analysis.literature.studies import KnownRatio, Pair, StudyTables, study
from analysis.literature.tables import tables_of
from analysis.literature.threads import gains, threads
from analysis.literature.today import (
    NOW,
    THEN,
    beside,
    certified,
    defined,
    definitions,
    effects_of,
    finding_beside,
    shares,
    table,
    then_and_now,
)
from analysis.report.prose import two
from tests.analysis.literature.judging.test_rules import row
from tests.conftest import ROOT

MXNET = Pair("workload", "alexnet-s-mxnet", "alexnet-s")


def planted(*found: object) -> list[StudyTables]:
    return [StudyTables("planted", tuple(found), frozenset({"cpu"}), {})]  # type: ignore[arg-type]


def test_rows_stand_beside_cells_of_as_many_threads() -> None:
    studies = planted(row(2.0, workload="fcn-s", threads=2), row(2.0, workload="lstm", threads=3))
    rows = beside(studies, {})
    assert {(one.network, one.threads) for one in rows} == {("FCN-S", 2)}
    assert {one.device for one in rows} == {"desktop-cpu", "server-cpu"}
    for one in rows:
        assert one.ratio.ratio == pytest.approx(0.5, rel=0.02)
        assert one.ratio.low < one.ratio.ratio < one.ratio.high
        assert one.then.low < one.then.ratio / 1.2 and one.then.high > one.then.ratio * 1.2
    assert finding_beside(rows) == (
        "In 1 of 1 case the order of 2016 has turned round: FCN-S (2 threads)."
    )
    alike = [replace(one, verdict="equivalent") for one in rows]
    assert finding_beside(alike) == "In none of 1 case the order of 2016 has turned round."
    assert then_and_now(rows).svg.count("FCN-S") and len(table(rows)) == 3
    assert {len(line) for line in table(rows)} == {len(set(table(rows)[0]))} == {17}


def test_a_verdict_stands_beside_each_ratio_then_and_now() -> None:
    """TensorFlow's 2.0 as (Py)Torch's 0.5, on networks whose cells differ in what they say."""
    own = planted(
        *(row(2.0, workload=name, threads=2) for name in ("fcn-s", "alexnet-r", "lstm")),
        row(0.4, workload="fcn-s", threads=2, variant="tuned"),
    )
    rows = beside(own, {})
    said = {(one.network, one.device): (one.then_verdict, one.note) for one in rows}
    assert said == {
        ("FCN-S", "desktop-cpu"): ("slower", ""),
        ("FCN-S", "server-cpu"): ("slower", "doubtful"),
        ("AlexNet-R", "desktop-cpu"): ("cannot tell", ""),  # 0.834 times 1.24 is above 1
        ("AlexNet-R", "server-cpu"): ("faster", ""),
        ("LSTM", "server-cpu"): ("cannot tell", ""),
    }
    for one in rows:
        ends = {"slower": one.then.low > 1, "faster": one.then.high < 1}
        assert ends.get(one.then_verdict, one.then.low < 1 < one.then.high)
    drawn = then_and_now(rows).svg
    for words in ("today: faster; tuned: slower", "2016: slower", "2016: cannot tell; faster"):
        assert f">{words}</text>" in drawn
    text = page([], own, [])
    assert "| network | threads | 2016, desktop | 2016, server | today | today, tuned |" in text
    (line,) = [one for one in text.splitlines() if one.startswith("| FCN-S | 2 |")]
    cells = [cell.strip() for cell in line.split("|")[3:-1]]
    assert cells[:2] == ["6.75 slower", "5.81 slower (doubtful)"]
    assert re.fullmatch(r"0\.5\d\d \(.* to .*\) faster", cells[2])
    assert re.fullmatch(r"2\.\d\d \(.* to .*\) slower", cells[3])
    assert "then and now" not in page([], [], [])


def test_of_a_network_in_two_studies_the_first_counts() -> None:
    first, second = (
        StudyTables(
            name, (row(ratio, workload="fcn-s", threads=2, study=name),), frozenset({"cpu"}), {}
        )
        for name, ratio in (("networks", 2.0), ("threads", 3.0))
    )
    found = [one.ratio.ratio for one in beside([first, second], {})]
    assert found == [pytest.approx(0.5, rel=0.02)] * 2


def test_a_second_thread_stands_beside_that_of_2016() -> None:
    found = row(0.6, pair=THREADS, workload="fcn-s", framework="jax", threads=2)
    (own,) = gains(planted(found))
    assert (own.network, own.framework) == ("FCN-S", "jax")
    assert own.speedup.ratio == pytest.approx(1 / 0.6, rel=0.02)
    assert own.speedup.low < own.speedup.ratio < own.speedup.high
    assert own.efficiency == pytest.approx(own.speedup.ratio / 2)
    assert own.serial_share == pytest.approx(0.2, abs=0.03)  # Amdahl: 0.2 + 0.8 / 2 = 0.6
    assert own.then_least <= own.then_median <= own.then_most
    drawn = threads([own])
    assert "1.7 (JAX on FCN-S)" in drawn.finding and "1.5 in 2016" in drawn.finding
    assert "FCN-S" in drawn.svg
    assert gains(planted(row(0.6, pair=THREADS, workload="fcn-s", certificate=""))) == []


def test_a_definition_stands_beside_its_operations_and_its_cells() -> None:
    found = row(0.5, pair=MXNET, workload="alexnet-s-mxnet", framework="pytorch")
    (own,) = defined(planted(found))
    assert (own.network, own.tool) == ("AlexNet-S", "MXNet")
    assert own.operations == pytest.approx(0.49, abs=0.01)
    assert own.ratio.ratio == pytest.approx(0.5, rel=0.02)
    assert own.least <= own.published <= own.most and own.explained == "more"
    (near,) = defined(planted(replace(found, estimate=row(0.7, pair=MXNET).estimate)))
    assert near.explained == "yes"
    batch, work = 16, networks()["AlexNet-S of MXNet"]
    assert own.parameters == work.parameters
    assert own.gflop * 1e9 == pytest.approx(work.flops(batch), rel=1e-6)
    assert definitions([own]).finding == (
        "Today in PyTorch the definitions take 0.5 times as long as AlexNet-S itself for MXNet's."
    )
    both = [own, replace(own, framework="tensorflow", ratio=KnownRatio(0.6, 0.5, 0.7))]
    drawn = definitions(both)
    assert "in PyTorch and TensorFlow the definitions take 0.5 and 0.6 times" in drawn.finding
    assert drawn.svg.count("AlexNet-S of MXNet") == definitions([own]).svg.count(
        "AlexNet-S of MXNet"
    )


def test_a_definition_counts_in_the_framework_that_is_its_tools_like() -> None:
    found = [
        row(ratio, pair=Pair("workload", f"{name}-{tool}", name), workload=name, framework=own)
        for name, tool in (("alexnet-s", "tensorflow"), ("lstm", "torch"), ("alexnet-r", "caffe"))
        for own, ratio in (("pytorch", 2.0), ("tensorflow", 4.5))
    ]
    effects = {cell: one.ratio for cell, one in effects_of(defined(planted(*found))).items()}
    expected = {("AlexNet-S", "TensorFlow"): 4.5, ("LSTM", "Torch"): 2, ("AlexNet-R", "Caffe"): 3}
    assert effects == {cell: pytest.approx(value, rel=0.02) for cell, value in expected.items()}
    torch = next(one for one in defined(planted(*found)) if one.tool == "Torch")
    assert torch.operations == 1 and torch.explained == ""
    assert torch.published is torch.least is torch.most is None
    assert "LSTM of Torch" in definitions([torch]).svg


def test_2016_is_set_right_by_both_tools_definitions() -> None:
    own = planted(row(2.0, workload="lstm", threads=1), row(2.0, workload="fcn-s", threads=1))
    effects = {("LSTM", "Torch"): KnownRatio(3, 2, 4), ("LSTM", "TensorFlow"): KnownRatio(2, 1, 4)}
    rows = beside(own, effects)
    for one in rows:
        if one.network == "FCN-S":
            assert one.same is None
        else:
            then, low, high = one.then
            assert one.same == pytest.approx((then * 1.5, low / 2, high * 4))
    assert {one.network for one in rows} == {"FCN-S", "LSTM"}
    assert "had both trained this network" in then_and_now(rows).svg
    assert "had both trained" not in then_and_now(beside(own, {})).svg


def test_what_is_not_certified_stands_nowhere() -> None:
    refused = row(2.0, workload="fcn-s", threads=2, certificate="")
    tuned = row(2.0, workload="fcn-s", threads=2, variant="tuned")
    assert certified(planted(refused, tuned), refused.pair) == []
    assert beside(planted(refused), {}) == [] and defined(planted(refused)) == []


def test_tuned_frameworks_stand_beside_2016_in_rows_of_their_own() -> None:
    own = [
        row(ratio, workload="fcn-s", threads=2, variant=variant)
        for variant, ratio in (("tuned", 0.5), ("default", 2.0), ("compile", 9.0))
    ]
    rows = beside(planted(*own), {})
    found = [(one.variant, round(one.ratio.ratio, 1)) for one in rows]  # on two processors of 2016
    assert found == [("default", 0.5), ("default", 0.5), ("tuned", 2.0), ("tuned", 2.0)]
    assert finding_beside(rows) == (
        "In 1 of 1 case the order of 2016 has turned round: FCN-S (2 threads). With tuned "
        "frameworks, in none of 1 case the order of 2016 has turned round."
    )
    assert "today, tuned" in then_and_now(rows).svg
    assert "today, tuned" not in then_and_now(rows[:2]).svg


def test_todays_ratio_is_drawn_once_beside_two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.axes import Axes

    drawn: list[str] = []
    plot = Axes.plot

    def watched(self: Axes, *values: Any, **style: Any) -> Any:
        drawn.append(style["color"])
        return plot(self, *values, **style)

    monkeypatch.setattr(Axes, "plot", watched)
    then_and_now(beside(planted(row(2.0, workload="fcn-s", threads=2)), {}))
    assert (drawn.count(NOW), drawn.count(THEN)) == (2, 4)  # a line and a mark each


def test_the_pages_table_has_the_committed_numbers() -> None:
    with (ROOT / "reports/literature/definitions.csv").open() as file:
        found = grouped(((row["tool"], row["network"]), row) for row in csv.DictReader(file))
    rows = [
        [
            f"{tool}'s {network}",
            *map(with_interval, own),
            " to ".join(two(float(end)) for key in ("least", "most") if (end := own[0][key])),
        ]
        for (tool, network), own in found.items()
    ]
    page = (ROOT / "docs/literature.md").read_text()
    (table,) = re.findall(r"^\| definition \| its time .*?\n.*?\n(.*?)\n\n", page, re.S | re.M)
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()] == rows


def with_interval(row: dict[str, str]) -> str:
    digits = 2 if float(row["ratio"]) > 0.1 else 3
    middle, low, high = (
        f"{float(row[key]):.{digits}f}" for key in ("ratio", "ratio_low", "ratio_high")
    )
    return f"{middle} ({low} to {high})"


@pytest.mark.parametrize("name", ["then-and-now", "definitions"])
def test_the_committed_numbers_are_of_every_network_that_was_certified(name: str) -> None:
    with (ROOT / "reports/literature" / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    there = Path(ROOT / "reports" / {"then-and-now": "networks"}.get(name, name))
    assert rows and (there / "report.md").exists()
    for one in rows:
        low, ratio, high = (float(one[f"ratio{end}"]) for end in ("_low", "", "_high"))
        assert low <= ratio <= high


def test_todays_shares_are_of_the_matrix_product_and_of_networks_of_that_time() -> None:
    def one(workload: str, variant: str = "default") -> BenchmarkId:
        return BenchmarkId(workload, "pytorch", variant, "cpu", 2)

    first = planted()[0]
    first.peaks.update({one("lstm"): 0.51234, one("mlp"): 0.4, one("lstm", "eager"): 0.3})
    second = planted()[0]
    second.peaks.update({one("lstm"): 0.9, one("fcn-s", "tuned"): 1.2})
    rows = shares([first, second])
    assert [(row.network, row.variant, row.share) for row in rows] == [
        ("FCN-S", "tuned", 1.2), ("LSTM", "default", 0.512)
    ]  # fmt: skip
    drawn = impossible(rows)
    assert " reach 0.51 (PyTorch on LSTM) to 1.2 (PyTorch on FCN-S) of " in drawn.finding
    assert ">today</text>" in drawn.svg.replace("\n", "")
    assert "Today" not in impossible().finding and "Squares" not in impossible().caption
    peaks = study("networks", tables_of(ROOT / "reports" / "networks")).peaks
    assert 0.1 < min(peaks.values()) < max(peaks.values()) < 1.5


def test_of_several_reasons_the_page_has_the_first_without_its_contender() -> None:
    several = "pytorch/two-workers/cpu/2 refused: loss differs (allowed 1e-12); and more; still"
    assert first_of(several) == "refused: loss differs (allowed 1e-12)"
    assert first_of("pytorch is not installed") == "pytorch is not installed"
