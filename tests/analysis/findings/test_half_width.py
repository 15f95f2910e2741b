"""How precise ratios are, and whether the replicates advised do what is said of them."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import annotated_types
import numpy as np
import pytest

from analysis.findings.findings import Findings
from analysis.findings.half_width import (
    ASSURANCE,
    MOST,
    HalfWidthLine,
    foreseen,
    half_width,
    replicates_assured,
    scatter,
)
from analysis.report.page import write as write_report
from analysis.report.sections.comparing.half_width import advice, again
from tests.analysis.recipe import Recipe
from workflows.planning.configuration import Configuration

Found = Callable[[Recipe], Findings]
WIDTH = math.log1p(0.03)
NOISY = Recipe(workloads=("mnist-cnn",), threads=(1,), process_sd=0.06, seed=3)


def asked(findings: Findings, target: float) -> Findings:
    findings.machine.records.study.target_precision = target
    return Findings(findings.machine)


def said(findings: Findings) -> str:
    return " ".join(advice(findings.machine, findings.half_widths).sentences)


@pytest.mark.parametrize(
    ("sd", "n", "width"),
    [
        (WIDTH, 7, 2.446912 * WIDTH / math.sqrt(7)),  # t(0.975; 6)
        (0.1, 2, 12.706205 * 0.1 / math.sqrt(2)),  # t(0.975; 1)
    ],
)
def test_half_width_worked_by_hand(sd: float, n: int, width: float) -> None:
    assert half_width(sd, n, 0.05) == pytest.approx(width)


def test_more_replicates_are_never_foreseen_to_tell_less() -> None:
    for n in (2, 3, 7, 30, 400):
        widths = [foreseen(1.0, n, later, 0.05) for later in range(n, 3 * n + 5)]
        assert widths[0] == half_width(1.0, n, 0.05)
        assert all(one > other for one, other in pairwise(widths))


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.3])
def test_replicates_assured_is_the_fewest(sd: float) -> None:
    n = replicates_assured(sd, 7, 0.03, 0.05)
    assert foreseen(sd, 7, n, 0.05) <= WIDTH
    assert n == 7 or foreseen(sd, 7, n - 1, 0.05) > WIDTH


def extended(random: np.random.Generator, sd: float, n: int, most: int) -> tuple[bool, bool]:
    """A study of `n` replicates, extended as advised `most` times at most: whether it then is
    as precise as asked for, and whether its interval covers the truth."""
    logs = random.normal(0, sd, n)
    for _ in range(most):
        later = replicates_assured(float(logs.std(ddof=1)), len(logs), 0.03, 0.05)
        logs = np.r_[logs, random.normal(0, sd, min(later, MOST) - len(logs))]
    width = half_width(float(logs.std(ddof=1)), len(logs), 0.05)
    return width <= WIDTH, abs(logs.mean()) <= width


def test_what_is_advised_is_enough_as_often_as_is_said() -> None:
    random = np.random.default_rng(11)
    reached = [extended(random, 0.12, 7, most=1)[0] for _ in range(800)]
    # binomial around 0.8: four standard deviations below; above, those precise from the start
    assert ASSURANCE - 0.057 <= np.mean(reached) <= 0.87


@pytest.mark.parametrize(("sd", "n"), [(0.04, 5), (0.05, 7), (0.08, 10)])
def test_following_the_advice_to_the_end_costs_little_coverage(sd: float, n: int) -> None:
    random = np.random.default_rng(12)
    covered = np.mean([extended(random, sd, n, most=4)[1] for _ in range(800)])
    # 0.92 to 0.95 in the method's words, and three standard deviations of 800 either way
    assert 0.89 <= covered <= 0.975


def test_rows_are_the_intervals_of_the_comparisons(findings: Findings) -> None:
    ratios = [row for row in findings.comparisons if row.estimate.ratio is not None]
    lines = [line for line in findings.half_widths if line.half_width is not None]
    assert len(lines) == len(ratios) == 8 < len(findings.half_widths)
    for line, row in zip(lines, ratios, strict=True):
        ratio, low, high = row.estimate.ends
        assert line.half_width is not None and ratio and low and high
        assert ratio * (1 + line.half_width) == pytest.approx(high)
        assert ratio / (1 + line.half_width) == pytest.approx(low)
        assert line.reached == (line.half_width <= 0.03)
        # contests take 32.5 to 38.5 seconds in each of two workloads
        assert line.minutes == pytest.approx((line.more or 0) * 2 * 35.5 / 60)


def test_a_study_as_precise_as_asked_says_so_and_no_more(findings: Findings) -> None:
    advised = advice(findings.machine, asked(findings, 0.5).half_widths)
    worst = max(line.half_width or 0 for line in findings.half_widths)
    asked(findings, 0.03)
    assert advised.sentences == [
        f"Every ratio is known to within {100 * worst:.2g} %; 50 % were asked for."
    ]
    assert advised.command == ""


def test_what_is_missing_is_advised_with_its_price_and_command(found: Found) -> None:
    findings = asked(found(NOISY), 0.03)
    lines = findings.half_widths
    more = max(line.more or 0 for line in lines)
    assert more > 10
    advised = advice(findings.machine, lines)
    assert re.search(rf" {more} more replicates, about \d+ minutes, would bring all of them to 3 % "
                     r"with a probability of 80 %\. This command measures only the new ones:$",
                     said(findings))  # fmt: skip
    assert advised.command == f"snakemake --cores 1 --config replicates={7 + more}"


def test_what_no_study_can_reach_is_not_advised(found: Found) -> None:
    findings = asked(found(NOISY), 0.0005)
    assert "0.05 % would take more than 1,000 replicates for MNIST CNN, " in said(findings)
    assert advice(findings.machine, findings.half_widths).command == ""
    (limit,) = [
        rule.le
        for rule in Configuration.model_fields["replicates"].metadata
        if isinstance(rule, annotated_types.Le)
    ]
    assert limit == MOST


def test_one_replicate_says_nothing_of_precision(found: Found) -> None:
    findings = found(replace(NOISY, replicates=1))
    assert said(findings).startswith("One replicate has no interval")
    assert findings.half_widths[0].half_width is None
    few = found(replace(NOISY, replicates=2))
    assert said(few).endswith(" Set `replicates` to 5 or more: fewer cannot say how many would be "
                              "enough.")  # fmt: skip
    alone = found(
        Recipe(machine="alone", frameworks=("pytorch",), variants=("default",), replicates=2)
    )
    assert said(alone) == ""


def test_lost_replicates_are_made_up_for(found: Found) -> None:
    lost = {("mnist-cnn", n, "tensorflow/default/cpu/1"): "out of memory" for n in (1, 2, 3)}
    findings = found(replace(NOISY, variants=("default",), absent=lost))
    (line,) = [line for line in findings.half_widths if line.comparison.estimate.ratio]
    assert line.comparison.estimate.replicates == 4 and line.more
    sd = scatter(line.half_width or 0.0, 4, 0.05)
    assert line.more == replicates_assured(sd, 4, 0.03, 0.05) - 4
    assert f"{line.more} more replicates" in said(findings)
    assert f"replicates={7 + line.more}" in advice(findings.machine, [line]).command


@pytest.mark.parametrize(
    ("command", "then"),
    [
        ("snakemake --cores 1", "snakemake --cores 1 --config replicates=9"),
        (
            "snakemake --cores 1 --configfile a.yaml 'b c.yaml' --config replicates=8 margin=0.1",
            "snakemake --cores 1 --configfile a.yaml 'b c.yaml' --config margin=0.1 replicates=9",
        ),
        ("snakemake --cores 1 --config replicates=8", "snakemake --cores 1 --config replicates=9"),
        ("python -m workflows.stages.run --configfile a.yaml", ""),
    ],
)
def test_the_command_is_the_studys_own(command: str, then: str) -> None:
    assert again(command, 9, limited=False) == then


def test_more_replicates_than_fit_in_its_minutes_need_a_study_without_a_limit(found: Found) -> None:
    limited = "snakemake --cores 1 --config minutes=20 replicates=8"
    assert again(limited, 9, limited=True) == "snakemake --cores 1 --config replicates=9 minutes="
    findings = asked(found(NOISY), 0.03)
    findings.machine.study.configuration["minutes"] = 15
    advised = advice(findings.machine, findings.half_widths)
    assert advised.command.endswith(" minutes=")
    findings.machine.study.command = "python -m workflows.stages.run"
    by_hand = advice(findings.machine, findings.half_widths)
    assert by_hand.command == "" and "` and `minutes: null`, and run" in by_hand.sentences[-1]


def test_both_pages_and_the_table_tell_it(found: Found, tmp_path: Path) -> None:
    (chapter,) = write_report([found(NOISY).machine], tmp_path)
    shown = advice(chapter.findings.machine, chapter.findings.half_widths)
    assert len(shown.sentences) == 3
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text().replace("\u00a0", " ")
        assert all(one in text for one in shown.sentences)
        assert shown.command in text
    header, *rows = (tmp_path / "tables" / "half_width.csv").read_text().splitlines()
    assert header.split(",") == HalfWidthLine.COLUMNS.split()
    assert len(rows) == 4 and sum(row.endswith("nvidia-smi is not installed") for row in rows) == 2
