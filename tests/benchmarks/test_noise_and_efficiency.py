"""The benchmarks' pages are of their records, and their code runs."""

import mmap
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.data.processes import by_benchmark, processes, uncontrolled
from analysis.data.processes import paired as paired_processes
from analysis.data.reading import load as load_machines
from analysis.data.results import BenchmarkId
from benchmarks.efficiency.__main__ import OURS, contests, machine_time, table
from benchmarks.efficiency.measure import COUNTS
from benchmarks.noise import faults, pairing, rounds
from benchmarks.noise.__main__ import statistics_table, ways_table
from benchmarks.noise.scatter import (
    STATISTICS,
    components,
    log_ratio,
    log_ratios,
    paired,
    scatter,
    steady,
)
from benchmarks.noise.slow import figures
from benchmarks.noise.slow import table as slow_table
from benchmarks.pairs import contender, kernel, page_faults, run
from benchmarks.ways import WAYS
from frameworks.workloads import load
from frameworks.workloads.datasets.mnist import MnistSettings
from tests.conftest import ROOT
from workflows.stages.prepare import prepare

NOTEBOOK = ROOT / "benchmarks/noise/README.md"
NOISE = sorted((ROOT / "benchmarks/noise/records").glob("*.parquet"))
EFFICIENCY = sorted((ROOT / "benchmarks/efficiency/records").glob("*.csv"))


@pytest.mark.parametrize("path", NOISE, ids=lambda path: path.stem)
def test_the_notebook_has_the_tables_of_its_records(path: Path) -> None:
    rows, page = pd.read_parquet(path), NOTEBOOK.read_text()
    assert "\n".join(ways_table(rows)) in page
    assert "\n".join(statistics_table(rows)) in page
    assert rows.groupby("way")["replicate"].nunique().min() >= 20


@pytest.mark.all
@pytest.mark.parametrize("path", EFFICIENCY, ids=lambda path: path.stem)
def test_the_efficiency_page_has_the_tables_of_its_records(path: Path) -> None:
    page = (ROOT / "docs/efficiency.md").read_text()
    assert "\n".join(table(pd.read_csv(path))) in page
    assert contests(pd.read_parquet(path.with_suffix(".parquet"))) in " ".join(page.split())


@pytest.mark.parametrize("path", EFFICIENCY, ids=lambda path: path.stem)
def test_recorded_contests_are_judged_from_their_mini_batches(path: Path) -> None:
    estimates = pd.read_csv(path)
    recorded = estimates[estimates["method"] == OURS].set_index("cycle")["log_ratio"]
    batches = pd.read_parquet(path.with_suffix(".parquet"))
    for cycle, rows in batches.groupby("cycle"):
        assert log_ratio(steady(rows, COUNTS.discard)) == pytest.approx(recorded[cycle], abs=1e-5)


def folders_shown(page: str, module: str) -> list[list[Path]]:
    """Those that the module's command on the page names, a list after each option."""
    (words,) = re.findall(rf"^python -m {module} (.*?)^```", page, re.M | re.S)
    groups = re.split(r"--\w+", words.replace("\\\n", ""))
    return [[ROOT / folder for folder in group.split()] for group in groups if group.strip()]


def test_the_notebook_has_the_table_of_slow_mini_batches() -> None:
    page = NOTEBOOK.read_text()
    before, after = folders_shown(page, "benchmarks.noise.slow")
    assert "\n".join(slow_table(before, after)) in page


def test_the_notebook_has_the_table_of_rounds() -> None:
    page = NOTEBOOK.read_text()
    (folders,) = folders_shown(page, "benchmarks.noise.rounds")
    assert "\n".join(rounds.table(folders)) in page


def test_the_notebook_tells_of_page_faults() -> None:
    path = ROOT / "benchmarks/noise/records/page-faults/pytorch-default-1-thread.parquet"
    page = " ".join(NOTEBOOK.read_text().split())
    for line in faults.sentences(pd.read_parquet(path)):
        assert line in page


@pytest.mark.all
def test_the_notebook_has_the_table_of_pairing() -> None:
    page = NOTEBOOK.read_text()
    (folders,) = folders_shown(page, "benchmarks.noise.pairing")
    assert "\n".join(pairing.table(folders)) in page


def dealt(process: float, turn: float, replicates: int = 800) -> pd.DataFrame:
    """Two contenders in contests of eight rounds of three steady mini-batches."""
    random = np.random.default_rng(2)
    names = ["pytorch/default/cpu/2", "other/default/cpu/2"]
    levels = [range(replicates), names, range(1, 9), range(3)]
    columns = ["replicate", "contender", "round", "place"]
    rows = pd.MultiIndex.from_product(levels, names=columns).to_frame(index=False)
    own = random.normal(0, process, replicates * 2).repeat(24)
    turns = random.normal(0, turn, replicates * 16).repeat(3)
    ms = 10 * np.exp(own + turns) * np.where(rows["contender"] == names[1], 2, 1)
    return rows.assign(ms=ms, warmup=False, study="s", workload="mlp")


def test_more_rounds_help_against_what_turns_do_and_not_against_what_processes_do() -> None:
    turns, processes = dealt(0.0, 0.1), dealt(0.1, 0.0)
    one, eight = (rounds.standard_deviation(turns, "pytorch", count).item() for count in (1, 8))
    assert one == pytest.approx(0.1 * np.sqrt(2), rel=0.1) and eight < one / 2
    one, eight = (rounds.standard_deviation(processes, "pytorch", count).item() for count in (1, 8))
    assert one == pytest.approx(0.1 * np.sqrt(2), rel=0.1) and eight == pytest.approx(one)
    logs = rounds.by_block(turns, "pytorch", 4)
    assert len(logs) == 1600 and logs["log"].mean() == pytest.approx(np.log(2), abs=0.01)


def test_pairing_within_rounds_takes_out_what_rounds_share_and_nothing_else() -> None:
    rows = dealt(0.0, 0.1)
    keys = ["replicate", "round"]
    burst = np.random.default_rng(3).normal(0, 0.5, (800, 9))[tuple(rows[keys].to_numpy().T)]
    alone = pairing.standard_deviations(rows, "pytorch").iloc[0]
    shared = pairing.standard_deviations(
        rows.assign(ms=rows["ms"] * np.exp(burst)), "pytorch"
    ).iloc[0]
    for way in pairing.WAYS:
        assert alone[way] == pytest.approx(alone["processes"], rel=0.15)
        assert shared[way] == pytest.approx(alone[way])
    assert shared["processes"] > 1.3 * alone["processes"]


def test_pairs_of_mini_batches_are_those_of_the_report() -> None:
    (folders,) = folders_shown(NOTEBOOK.read_text(), "benchmarks.noise.pairing")
    (machine,) = load_machines(folders[:1])
    rows = uncontrolled(machine)
    measured = by_benchmark(processes(rows))
    found = pairing.standard_deviations(rows, "pytorch")["batches"]
    assert len(found)
    for (_, workload, name), sd in found.items():
        framework, variant, device, threads = name.split("/")
        ours = BenchmarkId(workload, framework, variant, device, int(threads))
        theirs = paired_processes(measured[ours], measured[ours._replace(framework="pytorch")])
        assert sd == pytest.approx(theirs.std(ddof=1))


def test_slow_is_over_one_and_a_half_times_the_lower_quartile() -> None:
    rows = pd.DataFrame({"ms": [10.0] * 8 + [14.0, 16.0]})
    rows = rows.assign(workload="mlp", contender="a", study="s", replicate=1)
    second = rows.assign(replicate=2, ms=rows["ms"] * np.e)
    found = figures(rows).iloc[0]
    assert found["slow"] == pytest.approx(0.1) and np.isnan(found["sd"])
    both = figures(pd.concat([rows, second])).iloc[0]
    assert both["sd"] == pytest.approx(np.std([0, 1], ddof=1))


def made_up(between: float, within: float, replicates: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(1)
    sides = pd.MultiIndex.from_product(
        [range(replicates), (0, 1), range(1, 9), range(6)],
        names=["replicate", "side", "round", "place"],
    )
    rows = pd.DataFrame(index=sides).reset_index()
    process = random.normal(0, between / np.sqrt(2), (replicates, 2))
    turn = random.normal(0, within / np.sqrt(2), (replicates, 2, 9))
    logs = process[rows["replicate"], rows["side"]]
    logs = logs + turn[rows["replicate"], rows["side"], rows["round"]]
    return rows.assign(ms=20 * np.exp(logs), way="turns")


def test_where_scatter_comes_from_is_found() -> None:
    rows = made_up(between=0.05, within=0.08)
    assert components(paired(rows)) == pytest.approx((0.05, 0.08), rel=0.1)
    found = scatter(log_ratios(rows, STATISTICS["mean"]), paired(rows), 1.0)
    assert found.sd == pytest.approx(np.hypot(0.05, 0.08 / np.sqrt(8)), rel=0.1)
    assert found.sd_low < found.sd < found.sd_high and found.mean_low < 0 < found.mean_high


def test_times_that_go_with_page_faults_are_told_from_those_that_do_not() -> None:
    rows = made_up(between=0.05, within=0.01)
    medians = rows.groupby(["replicate", "side"])["ms"].transform("median")
    with_them = rows.assign(faults=6 * 1000 * medians)
    assert faults.by_process(with_them).median() == pytest.approx(1000 * medians.median(), rel=0.01)
    going = faults.second_over_first(with_them)
    assert going["faults"].corr(going["ms"]) > 0.95
    (*_, line) = faults.sentences(with_them)
    assert "r 1.00" in line and "is 0.05; with that line taken off, 0.00" in line
    chance = np.random.default_rng(2).uniform(6000, 12000, 800)
    apart = faults.second_over_first(
        rows.assign(faults=chance[2 * rows["replicate"] + rows["side"]])
    )
    assert abs(apart["faults"].corr(apart["ms"])) < 0.15


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_page_faults_are_those_of_pages_touched() -> None:
    before = page_faults(os.getpid())
    # Straight from the system: NumPy's memory may be some freed before, once a test kept it.
    size = 64 * 2**20
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as fresh:
        fresh.write(b"1" * size)
    assert page_faults(os.getpid()) - before >= size / 2**21  # huge ones, if the system's
    assert np.isnan(page_faults(2**30))


def test_machine_time_grows_with_scatter_and_cost() -> None:
    rows = pd.DataFrame({"log_ratio": [-0.1, 0.1] * 10, "seconds": 5.0})
    assert machine_time(rows.assign(seconds=10.0)) == pytest.approx(2 * machine_time(rows))
    twice = rows.assign(log_ratio=2 * rows["log_ratio"])
    assert machine_time(twice) == pytest.approx(4 * machine_time(rows))
    assert machine_time(rows.assign(log_ratio=rows["log_ratio"] / 1000)) == 5.0
    both = pd.concat([rows.assign(method=OURS), twice.assign(method="other")])
    lines = list(table(both.assign(cycle=list(range(20)) * 2)))
    assert lines[2].startswith(f"| {OURS} |") and "| 4.0 [" in lines[3]


@pytest.mark.skipif(sys.platform != "linux", reason="pinning and env are Linux's here")
@pytest.mark.parametrize("way", ["turns", "any-environment", "untouched"])
def test_a_pair_is_dealt_in_its_way(abacus: str, tmp_path: Path, way: str) -> None:
    workload = load("mlp", {"features": 20, "hidden": [8], "samples": 400, "batch": 4})
    prepare(workload, tmp_path, 1, MnistSettings(source="stand-in"))
    one = contender("abacus/default/cpu/1")
    rows = run((one, one), WAYS[way], tmp_path, seed=1)
    assert rows.groupby(["side", "round"]).size().tolist() == [5, *[6] * 8] * 2
    assert (rows["ms"] > 0).all() and (rows["faults"] >= 0).all()


def test_the_kernel_gets_its_settings_back(tmp_path: Path) -> None:
    (tmp_path / "vm").mkdir()
    setting = tmp_path / "vm/setting"
    setting.write_text("0\n")
    with pytest.raises(KeyboardInterrupt), kernel({"vm/setting": "1000"}, tmp_path):
        assert setting.read_text() == "1000"
        raise KeyboardInterrupt
    assert setting.read_text() == "0\n"
