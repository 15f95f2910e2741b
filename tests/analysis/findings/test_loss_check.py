"""The timed runs must set out from where the certified ones did."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.data.loading import load
from analysis.findings.findings import Findings
from analysis.report.sections.sameness.certificates import certificate_summary
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write

RECIPE = Recipe(workloads=("mnist-cnn",), threads=(1,), replicates=3)
TUNED = "tensorflow/tuned/cpu/1"
BASE = "pytorch/default/cpu/1"


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(load([write(tmp_path_factory.mktemp("in"), RECIPE)])[0])


def changed(
    findings: Findings,
    change: Callable[[pd.DataFrame, "pd.Series[bool]"], None],
    who: str = TUNED,
    within: int = 0,
    tf32: bool = False,
) -> Findings:
    """With mini-batch `within` of round 3 of `who` in replicate 2 changed."""
    batches = findings.machine.batches.copy()
    place = batches.groupby(["contender", "replicate", "round"]).cumcount()
    turn = (batches["contender"] == who) & (batches["replicate"] == 2) & (batches["round"] == 3)
    change(batches, turn & (place == within))
    records = findings.machine.records.model_copy(deep=True)
    records.study.configuration["tf32"] = tf32
    return Findings(replace(findings.machine, records=records, batches=batches))


def off(by: float) -> Callable[[pd.DataFrame, "pd.Series[bool]"], None]:
    def change(batches: pd.DataFrame, rows: "pd.Series[bool]") -> None:
        batches.loc[rows, "loss"] *= 1 + by

    return change


def other_batch(batches: pd.DataFrame, rows: "pd.Series[bool]") -> None:
    batches.loc[rows, "batch"] += 1


def verdicts(findings: Findings) -> dict[str, tuple[str, str]]:
    return {
        row.id.variant: (row.estimate.verdict, row.reason)
        for row in findings.comparisons
        if row.id.device == "cpu"
    }


def test_what_agrees_is_compared_and_said(findings: Findings) -> None:
    found = findings.loss_check
    assert found.faults == {}
    assert found.compared == 3 * 3 * 9  # contenders but the reference, replicates, turns
    assert 0 < found.worst < 1e-6
    text = certificate_summary(findings)[-1]
    assert "the first losses of all turns agreed to " in text
    assert f"{found.worst:.1e}".replace("e-0", "e-") in text


def test_another_first_loss_is_refused_with_its_size(findings: Findings) -> None:
    wrong = changed(findings, off(0.02))
    verdict, reason = verdicts(wrong)["tuned"]
    assert verdict == "refused"
    assert reason == (
        f"{TUNED}: the first float32 loss of round 3 of replicate 2 differs by 2.0e-2 from that of "
        f"{BASE} (tolerance 0.001)"
    )
    assert verdicts(wrong)["default"][0] == "faster"
    assert "but for 1 contender refused" in certificate_summary(wrong)[-1]
    assert any(line.status == "refused" for line in wrong.missing)


def test_tf32_is_given_more_room(findings: Findings) -> None:
    assert verdicts(changed(findings, off(0.005)))["tuned"][0] == "refused"
    assert verdicts(changed(findings, off(0.005), tf32=True))["tuned"][0] != "refused"
    assert verdicts(changed(findings, off(0.02), tf32=True))["tuned"][0] == "refused"


def test_later_losses_of_a_turn_may_differ(findings: Findings) -> None:
    assert changed(findings, off(0.02), within=1).loss_check.faults == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("within", [0, 4])
def test_a_loss_that_is_not_finite_is_refused(
    findings: Findings, value: float, within: int
) -> None:
    verdict, reason = verdicts(changed(findings, off(value), within=within))["tuned"]
    assert verdict == "refused"
    assert reason == f"{TUNED}: a loss in round 3 of replicate 2 is not finite ({value})"


def test_a_reference_that_is_not_finite_takes_its_pairs_alone(findings: Findings) -> None:
    wrong = changed(findings, off(float("nan")), who=BASE)
    assert [seat.contender for seat in wrong.loss_check.faults] == [BASE]
    assert verdicts(wrong)["default"][0] == "refused"
    assert verdicts(wrong)["tuned"][0] != "refused"


def test_another_mini_batch_is_refused(findings: Findings) -> None:
    verdict, reason = verdicts(changed(findings, other_batch))["tuned"]
    assert verdict == "refused"
    assert reason.endswith(f"started with another mini-batch than {BASE}'s")


def test_one_contender_alone_is_held_against_nobody(tmp_path: Path) -> None:
    recipe = replace(RECIPE, frameworks=("pytorch",), variants=("tuned",))
    found = Findings(load([write(tmp_path, recipe)])[0])
    assert (found.loss_check.compared, str(found.loss_check)) == (0, "")
