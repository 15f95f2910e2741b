"""From turns with a known energy to its table, or to the reason why there is none."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from analysis.findings.findings import Findings, tables
from analysis.findings.speed.energy import ENERGY, EnergyLine, reasons_without_energy
from analysis.report.figures.style import Theme
from analysis.report.layout import Bullets, Chapter, Paragraph
from analysis.report.sections.measuring.missing import missing
from analysis.report.sections.measuring.use import energy_table, use
from tests.analysis.recipe import ENVIRONMENT, Recipe
from workflows.records.schema import TurnRecord

Found = Callable[[Recipe], Findings]
RECIPE = Recipe(workloads=("mlp",), variants=("default",), threads=(1,), replicates=3)
JOULES = {"pytorch": 6.0, "tensorflow": 3.0}  # of a mini-batch
MORE = {1: 1.0, 2: 1.1, 3: 1 / 1.1}  # of all contenders, by replicate
SILENT = {"processor": "not read: no counter", "gpu": "read before and after each turn"}


def measured(found: Found, known: bool = True, still: int = 0) -> Findings:
    """A study whose turns have an energy; every third turn of both sides took half as much more.
    The meter stood still in every turn but one of `still`."""
    findings = found(replace(RECIPE, system_info={**ENVIRONMENT, "energy": SILENT}))
    for contest in findings.machine.records.contests:
        for place, one in enumerate(c for c in contest.contenders if c.status == "ok"):
            for number in range(RECIPE.rounds + 1):
                batches = RECIPE.turn if number else RECIPE.warmup
                each = JOULES[one.framework] * MORE[contest.replicate]
                joules = each * batches * (1.5 if number % 3 == 2 else 1)
                if still and number % still:
                    joules = 0.0
                contest.turns.append(
                    TurnRecord(
                        round=number, position=place, contender=one.name, start_ns=0, cores=1,
                        duration_s=0.2, switches=0, peak_mib=100.0,
                        package_j=joules if known else None,
                    )
                )  # fmt: skip
    return findings


@pytest.fixture
def lines(found: Found) -> dict[str, EnergyLine]:
    return {line.id.framework: line for line in ENERGY.of(measured(found))}


def test_energy_is_by_mini_batch_and_compared_within_rounds(lines: dict[str, EnergyLine]) -> None:
    assert {name: line.joules.value for name, line in lines.items()} == pytest.approx(JOULES)
    first, other = lines["pytorch"], lines["tensorflow"]
    assert first.joules.low and first.joules.high
    assert first.joules.low < 0.95 * 6 and first.joules.high > 1.05 * 6  # replicates differ
    assert first.estimate.ratio is None
    # what both sides felt in a round and in a replicate cancels
    assert other.estimate.ends == pytest.approx((0.5, 0.5, 0.5))
    assert (other.of, other.reference) == ("processor", "pytorch/default/cpu/1")


def test_a_meter_that_stands_still_in_many_turns_counts_the_work_of_others(found: Found) -> None:
    """That of an H100 steps every 100 ms, and turns took 30."""
    findings = measured(found, still=4)
    assert ENERGY.of(findings) == []
    text = "The processor's meter of energy stood still in too many turns"
    assert any(line.startswith(text) for line in reasons_without_energy(findings))


def test_the_page_says_whose_energy_it_is(found: Found) -> None:
    findings = measured(found)
    table = energy_table(findings)
    assert table and [row[1:4] for row in table.rows] == [
        ["PyTorch", "processor", "6.000"], ["TensorFlow", "processor", "3.000"]
    ]  # fmt: skip
    parts = use(Chapter(findings, Theme.of([]), 1, []))
    (said,) = [p.text for p in parts if isinstance(p, Paragraph) and "energy" in p.text]
    assert "only one computes in a turn" in said
    assert "energy" in tables([findings])


def test_without_energy_one_row_has_the_reason(found: Found) -> None:
    findings = measured(found, known=False)
    assert energy_table(findings) is None and "energy" not in tables([findings])
    (said,) = [p for p in missing(Chapter(findings, Theme.of([]), 1, [])) if isinstance(p, Bullets)]
    assert said.items[-1] == "Energy of the processor was not read: no counter."
    assert not any("of the GPU" in item for item in said.items)
