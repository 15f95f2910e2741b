"""The timed runs must set out from where the certified ones did."""

import math
from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest

from analysis.data.reading import read
from analysis.data.results import BenchmarkId
from analysis.findings.fairness.as_timed import as_timed_lines
from analysis.findings.fairness.loss_check import TOLERANCE, LossCheck, check_losses
from analysis.findings.fairness.timed_turns import float64_turns
from analysis.findings.findings import Findings
from analysis.format import percent, scientific
from analysis.report.sections.comparing.comparisons import comparison_table
from analysis.report.sections.sameness.certificates import certificate_summary
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import copied
from tests.conftest import ROOT

Make = Callable[[Recipe], Findings]
RECIPE = Recipe(workloads=("mnist-cnn",), threads=(1,), replicates=3)
TUNED = "tensorflow/tuned/cpu/1"
BASE = "pytorch/default/cpu/1"
DEFAULT = "tensorflow/default/cpu/1"


@pytest.fixture(scope="module")
def findings(found: Make) -> Findings:
    return found(RECIPE)


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
    assert [row.contender for row in wrong.loss_check.faults] == [BASE]
    assert verdicts(wrong)["default"][0] == "refused"
    assert verdicts(wrong)["tuned"][0] != "refused"


def test_another_mini_batch_is_refused(findings: Findings) -> None:
    verdict, reason = verdicts(changed(findings, other_batch))["tuned"]
    assert verdict == "refused"
    assert reason.endswith(f"started with another mini-batch than {BASE}'s")


@pytest.fixture(scope="module")
def in_float64(found: Make) -> Findings:
    """With controls, and with the timed turns in float64."""
    return found(replace(RECIPE, float64_turns=True, controls=[(0.0, 1.0)]))


def test_all_losses_and_the_weights_that_were_read_are_compared_with_float64(
    in_float64: Findings,
) -> None:
    found = in_float64.loss_check
    assert found.faults == {} and found.in_float64
    assert found.compared == 5 * 3 * (5 + 8 * 6)  # with a control; replicates, mini-batches
    assert 0 < found.worst < 1e-6
    text = certificate_summary(in_float64)[-1]
    assert "all losses agreed with float64's to " in text
    assert "and so did the weights after one turn." in text


def test_how_many_losses_of_longer_turns_are_compared_is_said(in_float64: Findings) -> None:
    records = in_float64.machine.records.model_copy(deep=True)
    for certificate in records.certificates:
        for one in (certificate, *certificate.rows):
            if one.turns:
                one.turns.losses = [own[:4] for own in one.turns.losses]
    found = Findings(replace(in_float64.machine, records=records))
    assert "the losses of the first 4 steps of each turn agreed" in str(found.loss_check)


def test_what_diverges_in_float64_alone_is_refused(in_float64: Findings) -> None:
    """Losses in float64 that are no numbers do not switch the comparison off."""
    records = in_float64.machine.records.model_copy(deep=True)
    for certificate in records.certificates:
        for one in (certificate, *certificate.rows):
            if one.turns:
                one.turns.losses = [[*own[:2], *[math.nan] * len(own[2:])]
                                    for own in one.turns.losses]  # fmt: skip
    found = Findings(replace(in_float64.machine, records=records)).loss_check
    assert len(found.faults) == 5
    assert all("the float32 loss of step 3" in fault for fault in found.faults.values())


@pytest.mark.parametrize(("who", "whose"), [(TUNED, f"{BASE}'s"), (DEFAULT, "its own")])
def test_a_later_loss_is_refused_too(in_float64: Findings, who: str, whose: str) -> None:
    wrong = changed(in_float64, off(0.2), who=who, within=4)
    verdict, reason = verdicts(wrong)[who.split("/")[1]]
    assert verdict == "refused"
    assert reason == (
        f"{who}: the float32 loss of step 5 in round 3 of replicate 2 differs by 2.0e-1 from "
        f"{whose} in float64 (tolerance 0.03)"
    )
    assert changed(in_float64, off(0.02), who=who, within=4).loss_check.faults == {}
    assert changed(in_float64, off(0.2), who=who, within=4, tf32=True).loss_check.faults == {}


def test_a_contender_whose_timed_losses_are_wrong_is_not_called_the_same(
    in_float64: Findings,
) -> None:
    def said(findings: Findings) -> list[str]:
        rows = comparison_table(findings).rows
        return [row[-1] for row in rows if "tuned" in row[1]]

    assert said(in_float64)[0].startswith("yes, to ")
    assert said(changed(in_float64, off(0.2), who=TUNED, within=4)) == ["no"]


def test_a_control_must_compute_what_its_contender_does(in_float64: Findings) -> None:
    wrong = changed(in_float64, off(0.2), who="pytorch/tuned+twin/cpu/1", within=2)
    assert [row.variant for row in wrong.loss_check.faults] == ["tuned+twin"]


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (1.0, ""),
        (1.0005, ""),
        (1.1, "dense1.kernel is typically 10 % of its move away"),
        (0.0, "dense1.kernel is typically 100 % of its move away"),
        (None, "a tensor that is not as asked for is typically over 1,000 % of its move away"),
    ],
)
@pytest.mark.parametrize("drawn", [True, False], ids=["drawn", "earlier record"])
def test_weights_elsewhere_after_the_turn_that_was_read_are_refused(
    in_float64: Findings, move: float | None, words: str, drawn: bool
) -> None:
    wrong = copied(in_float64)
    records = wrong.machine.records
    read, start = 7 if drawn else 8, records.certificates[0].turns.start["dense1.kernel"]
    for certificate in records.certificates:
        certificate.turns.read = 7 if drawn else None
    (row,) = (c for c in records.contests[0].contenders if c.name == TUNED)
    row.weights = {"dense1.kernel": [w + 1e-3 * (move or 0.0) for w in start]}
    if move is None:
        row.weights["dense1.kernel"].pop()
    verdict, reason = verdicts(wrong)["tuned"]
    assert (verdict == "refused") is bool(words)
    assert f"{TUNED}: after the timed turn of round {read}, {words}" in reason or not words


def test_a_declared_deviation_without_turns_of_its_own_is_compared_with_nothing_and_refused(
    in_float64: Findings,
) -> None:
    findings = copied(in_float64)
    for record in findings.machine.records.certificates:
        for row in record.rows:
            row.turns = None
    found = findings.loss_check
    assert found.compared == 4 * 3 * (5 + 8 * 6)
    assert found.faults and all(
        f"{one.contender}: its timed turns are compared with nothing" in fault
        for one, fault in found.faults.items()
    )
    declared = {
        row.name
        for record in findings.machine.records.certificates
        for row in record.rows
        if row.status == "declared"
    }
    assert {one.contender for one in found.faults} == declared


def test_one_contender_alone_is_held_against_nobody(found: Make) -> None:
    check = found(replace(RECIPE, frameworks=("pytorch",), variants=("tuned",))).loss_check
    assert (check.compared, str(check)) == (0, "")


def test_what_was_measured_as_timed_is_a_table(in_float64: Findings, findings: Findings) -> None:
    earlier = copied(findings)
    for record in earlier.machine.records.certificates:
        for row in record.rows:
            row.astray = {}
    assert earlier.as_timed == []
    measured = copied(in_float64)
    for record in measured.machine.records.certificates:
        for row in record.rows:
            row.float32, row.again = [1e-7, 2e-7], [0.0, 3e-8]
            row.astray = {2: {"w": (1e-6, 0.0)}, 10: {"w": (1e-5, 0.0), "b": (1e-6, 0.01)}}
    rows = {row.id.contender: row for row in measured.as_timed}
    row = rows[TUNED]
    assert (row.losses, row.restarted) == (2e-7, 3e-8)
    assert (row.typical_2, row.off_2, row.typical_10, row.off_10) == (1e-6, 0.0, 1e-5, 0.01)
    assert 0 < (row.timed_losses or 0) < 1e-6 and (row.timed_typical, row.timed_off) == (0.0, 0.0)
    assert 0 < (row.timed_median or 0) < 1e-6 and row.allowed == 5e-5
    none = rows["pytorch/default/gpu/1"]
    assert none.timed_losses is none.timed_median is none.allowed is None


@pytest.mark.all
def test_the_page_has_what_right_contenders_of_committed_studies_have_reached() -> None:
    losses, weights, share = [], [], []
    for path in sorted((ROOT / "reports").glob("*/**/records.json.zst")):
        if path.parent.is_symlink() or not float64_turns(machine := read(path.parent)):
            continue
        found = check_losses(machine, machine.batches)
        for row in as_timed_lines(machine, found):
            if machine.compares(row.id) and row.id not in found.faults and row.allowed:
                share.append((row.timed_median or 0.0) / row.allowed)
                if "repeats" in path.parts:
                    losses.append(row.timed_losses or 0.0)
                    weights.append(row.timed_typical or 0.0)
    page = (ROOT / "docs" / "method.md").read_text().splitlines()
    for begins, reached in (
        ("the losses of every timed turn", f"in later ones {scientific(max(losses))}"),
        ("the median of the losses", f"{percent(max(share))} of that"),
        ("typical error of weights after one timed turn", f"in any {scientific(max(weights))}"),
    ):
        (line,) = (line for line in page if line.startswith(f"| {begins}"))
        assert line.endswith(f"| {reached} |")
    assert max(share) < 0.6, "right contenders should have room"


@pytest.mark.parametrize(
    ("off", "astray", "compared"),
    [(4e-4, 0.5, True), (6e-4, 0.5, False), (6e-4, 0.0, False), (4e-4, 0.0, True)],
)
def test_weights_are_compared_unless_float32_led_elsewhere_in_that_turn(
    found: Make, off: float, astray: float, compared: bool
) -> None:
    """Which its losses show. They are judged with those of all other turns."""
    findings = copied(found(replace(RECIPE, float64_turns=True)))
    machine, one = findings.machine, BenchmarkId("mnist-cnn", "tensorflow", "tuned", "cpu", 1)
    expected, batches = float64_turns(machine)[one], machine.batches.copy()
    turn = (batches["contender"] == TUNED) & (batches["round"] == expected.turns.round)
    batches.loc[turn, "loss"] *= 1 + off
    start, right = expected.turns.start, expected.turns.weights
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.name == TUNED and contender.weights:
                contender.weights = {
                    name: [w + astray * (w - s) for w, s in zip(own, start[name], strict=True)]
                    for name, own in right.items()
                }
    check = check_losses(machine, batches)
    assert (one in check.faults) == (compared and astray > 0), check.faults
    assert check.odd == int(not compared)
    assert ("if float32 did not lead elsewhere (1 did)" in str(check)) != compared


def test_if_no_weights_were_compared_the_sentence_says_why() -> None:
    check = LossCheck(TOLERANCE, in_float64=True, compared=9, odd=2)
    assert str(check).endswith("; float32 led all weights elsewhere, so none were compared.")
    assert "elsewhere" not in str(replace(check, odd=0))
