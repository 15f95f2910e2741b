"""From made-up turns of the machine with a known speed to its table and its sentence."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.data.reading import load
from analysis.findings.findings import Findings, tables
from analysis.findings.speed.machine_speed import SPEED, SpeedLine, log_times, speed_summary
from analysis.findings.speed.use import USE, too_fast
from analysis.report.caveats.registry import caveats
from analysis.report.figures.measuring.roofline import roofline
from analysis.report.figures.style import Theme
from analysis.report.layout import Chapter, File, Paragraph
from analysis.report.sections.measuring.machine import machine as machine_parts
from analysis.report.sections.measuring.use import nearest
from tests.analysis.contests import make_contest
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import make_records
from workflows.records import schema as r
from workflows.records.columns import BATCHES
from workflows.records.storage import write_batches, write_json

RECIPE = Recipe(workloads=("mnist-cnn",), variants=("default",), threads=(1, 2), replicates=3)
WORK: dict[str, dict[str, r.Setting]] = {
    "product": {"flop_per_pass": 400_000_000},
    "stream": {"bytes_per_pass": 100_000_000},
}
MS = {"product": 10.0, "stream": 8.0}  # on one thread; half of it on two
SLOW = {1: 1.0, 2: 1.25, 3: 0.8}  # times as long, by replicate
Slower = Callable[[int], float]


def write(
    folder: Path,
    slow: Slower | None = SLOW.__getitem__,
    recorded: bool = True,
    change: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table,
) -> Findings:
    """The recipe's study with the machine's turns in it, each `slow(replicate)` times as long;
    round n is n per cent longer. None leaves these turns out. `change` is made to all rows."""
    random, frames, contests = np.random.default_rng(1), [], []
    for replicate in range(1, RECIPE.replicates + 1):
        rows, contest = make_contest(RECIPE, "mnist-cnn", replicate, random)
        frames.append(rows)
        for variant, ms in MS.items() if slow else []:
            for threads in RECIPE.threads:
                one = r.ContenderRecord(
                    framework="machine", variant=variant, device="cpu", threads=threads,
                    status="ok", settings=WORK[variant] if recorded else {},
                )  # fmt: skip
                contest.contenders.append(one)
                last = len(contest.order[0])
                for order in contest.order:
                    order.append(one.name)
                own = rows[rows["contender"] == "pytorch/default/cpu/1"]
                factor = (slow or SLOW.get)(replicate) / threads * (1 + own["round"] / 100)
                frames.append(
                    own.assign(
                        contender=one.name, framework="machine", variant=variant,
                        threads=np.int16(threads), transfer_ns=0, position=np.int16(last),
                        step_ns=(ms * factor * 1e6).round().astype(np.int64),
                    )
                )  # fmt: skip
        contests.append(contest)
    table = change(pd.concat(frames))
    write_batches(folder / "batches.parquet", {n: table[n].to_numpy() for n in BATCHES.names})
    write_json(folder / "records.json", make_records(RECIPE, contests))
    return Findings(load([folder])[0])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return write(tmp_path_factory.mktemp("speed"))


def line(findings: Findings, variant: str, threads: int, replicate: int | None) -> SpeedLine:
    (one,) = [
        line
        for line in SPEED.of(findings)
        if (line.variant, line.threads, line.replicate) == (variant, threads, replicate)
    ]
    return one


@pytest.mark.parametrize("threads", RECIPE.threads)
def test_a_pass_takes_as_long_as_made_up(found: Findings, threads: int) -> None:
    middle = 1.045  # of rounds 1 to 8
    for replicate, slow in SLOW.items():
        product, stream = (line(found, name, threads, replicate) for name in MS)
        assert product.median_ms == pytest.approx(10 * slow * middle / threads)
        assert product.gflop_per_s == pytest.approx(40 / slow / middle * threads)
        assert stream.gb_per_s == pytest.approx(12.5 / slow / middle * threads)
        assert product.gb_per_s is None and stream.gflop_per_s is None
        assert product.passes == RECIPE.rounds * (RECIPE.turn - RECIPE.discarded)


def test_the_spread_is_that_of_the_rounds(found: Findings) -> None:
    rounds = 1 + np.arange(1, 9) / 100
    low, high = np.quantile(rounds, [0.1, 0.9])
    assert line(found, "product", 1, 1).spread == pytest.approx((high - low) / 1.045)
    every = np.concatenate([rounds * slow for slow in SLOW.values()])
    low, middle, high = np.quantile(every, [0.1, 0.5, 0.9])
    assert line(found, "product", 1, None).spread == pytest.approx((high - low) / middle)


def test_all_replicates_name_the_slowest_and_the_fastest(found: Findings) -> None:
    """1, 1.25 and 0.8 have the geometric mean 1."""
    whole = line(found, "stream", 2, None)
    assert (whole.slowest_replicate, whole.fastest_replicate) == (2, 3)
    assert whole.median_ms == pytest.approx(4 * 1.045)
    assert whole.slowest_ms == pytest.approx(1.25 * 4 * 1.045)
    assert whole.fastest_ms == pytest.approx(0.8 * 4 * 1.045)
    assert whole.gb_per_s == pytest.approx(25 / 1.045)


def test_a_machine_that_slows_down_shows_by_how_much(found: Findings, tmp_path: Path) -> None:
    slower = write(tmp_path, lambda replicate: 1.1 * SLOW[replicate])
    before, after = log_times(found.machine), log_times(slower.machine)
    assert before == pytest.approx(
        {1: math.log(80**0.5 * 1.045), 2: math.log(80**0.5 / 2 * 1.045)}, abs=1e-6
    )
    for threads in RECIPE.threads:
        assert after[threads] - before[threads] == pytest.approx(math.log(1.1), abs=1e-6)


def test_the_report_says_how_fast_the_machine_was(found: Findings) -> None:
    text = speed_summary(SPEED.of(found))
    product = "The matrix product ran at 38.3 GFLOP/s on 1 thread and 76.6 GFLOP/s on 2 threads. "
    assert product + "Its fastest contest was up to 1.56 times as fast as its slowest." in text
    assert "The memory stream ran at 12.0 GB/s on 1 thread and " in text
    parts = parts_of(found)
    assert any(isinstance(part, Paragraph) and part.text == text for part in parts)
    assert File("machine_speed.csv") in parts


def parts_of(findings: Findings) -> list[object]:
    return list(machine_parts(Chapter(findings, None, 1, [])))  # type: ignore[arg-type]


def test_nothing_else_changes_with_the_machines_turns(found: Findings, tmp_path: Path) -> None:
    without = write(tmp_path, None)
    both, alone = tables([found]), tables([without])
    assert both.pop("machine_speed").count("\n") == 1 + 2 * 2 * 4
    assert both.pop("use").count("\n") == 1 + 2 * 2
    assert both == alone


def test_the_limit_is_the_longer_of_arithmetic_and_memory(found: Findings) -> None:
    (work,) = found.machine.records.workloads
    lines = USE.of(found)
    for one in lines:
        product, stream = (line(found, name, one.id.threads, None).speed or 0.0 for name in MS)
        arithmetic = work.flops_per_step / (product * 1e9)
        memory = work.bytes_per_step / (stream * 4 / 3 * 1e9)
        assert one.limit.binds == "arithmetic" and arithmetic > memory
        assert one.limit.compute_ms == pytest.approx(1000 * arithmetic)
        assert one.limit.memory_ms == pytest.approx(1000 * memory)
        assert one.limit.share == pytest.approx(1000 * arithmetic / one.median_ms)
    # 1.048 GFLOP at 38.3 GFLOP/s on one thread take 27.4 ms; TensorFlow's step takes 11 ms
    assert max(one.limit.share or 0 for one in lines) == pytest.approx(27.4 / 11, rel=0.1)
    (text,) = nearest(lines)
    assert text.startswith("On the MNIST CNN, TensorFlow comes nearest to the machine's limit: 2")
    figure = roofline(found, Theme.of(one.id for one in lines), "roofline")
    assert figure and "PyTorch on the MNIST CNN least" in figure.finding


def test_where_little_is_computed_memory_binds(found: Findings) -> None:
    (work,) = found.machine.records.workloads
    light = work.model_copy(update={"flops_per_step": 1000})
    records = found.machine.records.model_copy(update={"workloads": [light]})
    lines = USE.of(Findings(replace(found.machine, records=records)))
    assert lines and {one.limit.binds for one in lines} == {"memory traffic"}


def test_records_without_the_machines_turns_say_nothing(findings: Findings) -> None:
    assert SPEED.of(findings) == [] and "machine_speed" not in tables([findings])
    assert log_times(findings.machine) == {} and speed_summary([]) == ""
    assert File("machine_speed.csv") not in parts_of(findings)


def test_a_process_that_has_not_told_its_work_has_a_time_and_no_speed(tmp_path: Path) -> None:
    failed = write(tmp_path, recorded=False)
    whole = line(failed, "product", 1, None)
    assert whole.median_ms == pytest.approx(10.45)
    assert whole.gflop_per_s is None and speed_summary(SPEED.of(failed)) == ""


def test_one_computation_alone_is_no_log_time(found: Findings) -> None:
    batches = found.machine.uncompared.batches
    kept = batches[~((batches["variant"] == "stream") & (batches["threads"] == 2))]
    machine = replace(found.machine, uncompared=replace(found.machine.uncompared, batches=kept))
    assert list(log_times(machine)) == [1]


@pytest.mark.parametrize(("replicate", "of_four", "times"), [(1, 4, 50), (2, 2, 1000)])
def test_one_process_that_is_faster_than_the_machine_is_named(
    tmp_path: Path, replicate: int, of_four: int, times: int
) -> None:
    """All its steps are, or two of four; the median over processes is that of the others."""

    def faster(table: pd.DataFrame) -> pd.DataFrame:
        own = (table["contender"] == "tensorflow/default/cpu/2") & (table["replicate"] == replicate)
        own &= ~table["warmup"] & (table["step"] % 4 < of_four)
        return table.assign(step_ns=table["step_ns"].where(~own, table["step_ns"] // times))

    before = too_fast(write(tmp_path / "before"))
    found = write(tmp_path / "after", change=faster)
    (one,) = too_fast(found).keys() - before.keys()
    assert one.contender == "tensorflow/default/cpu/2"
    (text,) = [one.text for one in caveats(found, 1) if "of those of one process" in one.text]
    assert "TensorFlow, as in the tutorials, 1 and 2 threads" in text
