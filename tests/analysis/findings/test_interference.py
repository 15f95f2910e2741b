"""Disturbed turns are flagged, the rest are not, and conclusions are drawn again."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import Comparison
from analysis.findings.findings import Findings
from analysis.findings.interference import flagged
from analysis.report.caveats.noise import mostly_disturbed, taken_up
from analysis.report.caveats.registry import caveats
from analysis.report.layout import Severity
from analysis.report.page import write as write_report
from analysis.report.sections.measuring.interference import Pair, effect, interference_summary
from analysis.stats.inference import Estimate
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import copied
from workflows.records.schema import TurnRecord

RECIPE = Recipe(workloads=("mnist-cnn",), threads=(1,))
TENSORFLOW = "tensorflow/tuned/cpu/1"
DEFAULT = "tensorflow/default/cpu/1"
Hit = Callable[[str, int, int], Mapping[str, Any]]  # of contender, replicate, round
QUIET: Mapping[str, Any] = {
    "cores": 1, "switches": 3, "cpu_s": 0.195, "waited_s": 0.001, "steal_s": 0.0,
    "other_s": 0.003, "elsewhere_s": 0.0, "pressure_s": 0.001, "mhz": 3000.0, "throttles": 0,
}  # fmt: skip
BUSY = {"cpu_s": 0.1, "waited_s": 0.1, "other_s": 0.1}


def said(findings: Findings) -> str:
    return " ".join(interference_summary(findings))


def table(*turns: Mapping[str, Any]) -> pd.DataFrame:
    """Turns of 200 ms of one contender, quiet but for what is given."""
    common = {"workload": "mlp", "replicate": 1, "contender": "a", "duration_s": 0.2}
    return pd.DataFrame([{**common, **QUIET, **turn} for turn in turns])


def why(*turns: Mapping[str, Any]) -> list[str]:
    signs = flagged(table(*turns))
    rows = signs.itertuples(index=False)
    return ["; ".join(str(n) for n, there in zip(signs, row, strict=True) if there) for row in rows]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ({}, ""),
        (BUSY, "other load"),
        ({"cpu_s": 0.18, "waited_s": 0.018}, "other load"),
        # threads that wait for each other leave nothing of the core
        ({"cpu_s": 0.198, "waited_s": 0.15}, ""),
        # a contender that sleeps waits for nobody
        ({"cpu_s": 0.05, "other_s": 0.0}, ""),
        # on several cores only ticks tell
        ({"cores": 2, "cpu_s": 0.2, "waited_s": 0.15, "other_s": 0.03}, ""),
        ({"cores": 2, "cpu_s": 0.2, "waited_s": 0.15, "other_s": 0.06}, "other load"),
        ({"steal_s": 0.01}, ""),  # one tick may be next to nothing
        ({"steal_s": 0.02}, "steal"),
        ({"duration_s": 0.06, "cpu_s": 0.058, "other_s": 0.02}, ""),  # two ticks of rounding
        ({"duration_s": 0.06, "cpu_s": 0.058, "other_s": 0.03}, "other load"),
        # a turn of a few milliseconds: less than the harness itself may take, and more
        ({"duration_s": 0.006, "cpu_s": 0.003, "waited_s": 0.0019, "other_s": 0.007}, ""),
        ({"duration_s": 0.006, "cpu_s": 0.003, "waited_s": 0.0021, "other_s": 0.007}, "other load"),
        ({"mhz": 2800.0}, "frequency"),
        ({"mhz": 2900.0}, ""),
        ({"throttles": 1}, "frequency"),
        ({"switches": 60}, ""),  # waiting is known, and says better
        ({"switches": 60, "waited_s": None, "cpu_s": None, "other_s": None}, "switches"),
        ({"switches": 20, "waited_s": None, "cpu_s": None, "other_s": None}, ""),
        ({**BUSY, "steal_s": 0.05}, "steal; other load"),
    ],
)
def test_a_turn_among_quiet_ones(turn: Mapping[str, Any], expected: str) -> None:
    assert why({}, {}, turn, {}, {}) == ["", "", expected, "", ""]


def test_what_cannot_be_read_flags_nothing() -> None:
    nothing = dict.fromkeys(set(QUIET) - {"cores", "switches"})
    assert why(nothing, nothing) == ["", ""]


def test_somebody_there_all_the_time_is_not_usual() -> None:
    assert set(why(*[BUSY] * 5)) == {"other load"}
    short = {"duration_s": 0.02, "cpu_s": 0.01, "waited_s": 0.01, "other_s": 0.01}
    assert set(why(*[short] * 5)) == {"other load"}  # although ticks are too coarse


def with_turns(findings: Findings, hit: Hit) -> Findings:
    """With a quiet turn for each in the batches, but for what `hit` says of it."""
    found = copied(findings)
    for contest in found.machine.records.contests:
        rows = findings.machine.batches
        rows = rows[(rows.workload == contest.workload) & (rows.replicate == contest.replicate)]
        keys = rows[["contender", "round", "position"]].drop_duplicates()
        contest.turns = [
            TurnRecord(
                contender=name, round=number, position=position, start_ns=0, duration_s=0.2,
                **{**QUIET, **hit(name, contest.replicate, number)},
            )
            for name, number, position in keys.itertuples(index=False, name=None)
        ]  # fmt: skip
    return found


@pytest.fixture(scope="module")
def plain(found: Callable[[Recipe], Findings]) -> Findings:
    return found(RECIPE)


def with_ratio(findings: Findings) -> list[Comparison]:
    return [row for row in findings.comparisons if row.estimate.ratio is not None]


def nobody(name: str, replicate: int, number: int) -> Mapping[str, Any]:
    return {}


def now_and_then(name: str, replicate: int, number: int) -> Mapping[str, Any]:
    return BUSY if (replicate + number) % 7 == 0 else {}


def slowed(findings: Findings, hit: Hit, factor: float) -> Findings:
    """Turns that are hit take longer, as they would."""
    batches = findings.machine.batches.copy()
    keys = batches[["contender", "replicate", "round"]].itertuples(index=False, name=None)
    batches["ms"] *= [factor if hit(*key) else 1.0 for key in keys]
    return with_turns(Findings(replace(findings.machine, batches=batches)), hit)


def test_exactly_the_planted_turns_are_flagged(plain: Findings) -> None:
    turns = with_turns(plain, now_and_then).turns
    assert len(turns) == 4 * 7 * 9
    for turn in turns:
        planted = now_and_then(turn.turn.contender, turn.replicate, turn.turn.round)
        assert turn.flags == ("other load" if planted else "")


def test_older_records_have_no_turns(plain: Findings, tmp_path: Path) -> None:
    assert said(plain) == "These records have no counters of interference."
    write_report([plain.machine], tmp_path)
    assert not (tmp_path / "tables" / "unflagged.csv").exists()


def test_contests_without_a_record_are_counted(plain: Findings) -> None:
    findings = with_turns(plain, nobody)
    findings.machine.records.contests[0].turns = []
    assert "1 contest did not record it." in said(findings)


def test_quiet_turns(plain: Findings) -> None:
    findings = with_turns(plain, nobody)
    assert said(findings) == (
        "None of 224 turns was disturbed. Of the contenders' cores, the host took 0 % and other "
        "processes 1.5 % of the time."
    )
    assert findings.unflagged == with_ratio(plain)


def test_nothing_could_be_read(plain: Findings) -> None:
    nothing = dict.fromkeys(set(QUIET) - {"cores", "switches"})
    assert said(with_turns(plain, lambda *_: nothing)) == (
        "None of 224 turns was disturbed. Not readable here: steal time, waiting for a core, other "
        "load and frequency."
    )


def test_ratios_that_hardly_move(plain: Findings) -> None:
    findings = with_turns(plain, now_and_then)
    text = said(findings)
    hit = sum(bool(turn.flags) for turn in findings.turns if turn.turn.round)
    share = f"{100 * hit / 224:.2g} %"
    assert text.startswith(f"{hit} of 224 turns ({share}) were disturbed: other load {hit}. ")
    assert " Without them, " in text and "and none leaves its interval." in text
    # nothing is taken from the main estimates, and something from the others
    assert findings.comparisons == plain.comparisons
    assert findings.unflagged != with_ratio(findings)
    assert not [one for one in caveats(findings, 2) if "disturbed" in one.text]


def moved(*shifts: float | None, cores: Sequence[int] = (), low: float = 0.9) -> list[Pair]:
    """Ratios of 1 in all turns, with these without the flagged ones; None if nothing is left."""
    main = Estimate(5, 1.0, low, 1.1, verdict="cannot tell")
    made = []
    for place, shift in enumerate(shifts):
        threads = cores[place] if cores else 2
        one = BenchmarkId("mlp", "jax", f"v{place}", "cpu", threads)
        calm = Estimate() if shift is None else replace(main, ratio=1 + shift)
        made.append(
            tuple(Comparison(one, one._replace(framework="pytorch"), estimate, "", "")
                  for estimate in (main, calm))
        )  # fmt: skip
    return made


MOVE = "The estimates keep them. Without them, ratios move by"


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([], "There is no ratio for them to change."),
        (moved(0.001, -0.002), f"{MOVE} less than 0.5 %, and none leaves its interval."),
        (moved(-0.014, -0.033, 0.004), f"{MOVE} at most 3.3 %, and none leaves its interval."),
        (moved(-0.05, low=0.96), f"{MOVE} at most 5 %; the ratio of MLP, JAX, v0, 2 threads "
         "becomes 0.95 and leaves its interval."),
        (moved(None), f"{MOVE} less than 0.5 %; nothing is left to compare in MLP, JAX, v0, "
         "2 threads."),
        (moved(-0.04, low=0.96), f"{MOVE} at most 4 %, and none leaves its interval."),  # its end
    ],
)  # fmt: skip
def test_how_far_ratios_move(pairs: list[Pair], text: str) -> None:
    assert effect(pairs) == text


def test_of_many_ratios_those_whose_verdict_changes_are_named() -> None:
    *others, (main, calm) = moved(*[None] * 4, -0.2)
    turned = replace(main, estimate=replace(main.estimate, verdict="slower")), calm
    text = effect([*others, turned])
    first, second, third, last = text.partition("; ")[2].split("; ")
    assert first.startswith("the ratio of MLP, JAX, v4, 2 threads becomes 0.8 and leaves its")
    assert "v0" in second and "v1" in third and last == "the same goes for 2 more."


def test_one_replicate_has_no_interval_to_leave() -> None:
    ((main, calm),) = moved(-0.2)
    alone = replace(main, estimate=Estimate(1, 1.0, verdict="cannot tell"))
    assert effect([(alone, calm)]).endswith("by at most 20 %, and none leaves its interval.")


def test_without_them_the_planted_slowness_is_gone(plain: Findings) -> None:
    """All turns of one contender but one take 2.5 times as long: its ratio is wrong, and right
    without."""

    def hit(name: str, replicate: int, number: int) -> Mapping[str, Any]:
        return BUSY if name == DEFAULT and number not in (0, 4) else {}

    (truth,) = [row for row in with_ratio(plain) if row.id.variant == "default"]
    findings = slowed(plain, hit, 2.5)
    (main, calm), *others = findings.unflagged_pairs
    disturbed, without, true = main.estimate, calm.estimate, truth.estimate
    assert main.id.variant == "default" and disturbed.ratio and without.ratio and true.ratio
    assert disturbed.ratio == pytest.approx(2.5 * true.ratio, rel=0.05)
    assert without.ratio == pytest.approx(true.ratio, rel=0.05)
    assert disturbed.verdict == "slower" and without.verdict == true.verdict == "faster"
    for one, other in others:
        assert one == other
    where = "MNIST CNN, TensorFlow, as in the tutorials, 1 thread †"
    change = f"the ratio of {where} becomes {without.ratio:.2g} "
    text = said(findings)
    assert change in text and "(slower becomes faster)." in text
    (caveat,) = (one for one in caveats(findings, 2) if change in one.text)
    assert (caveat.severity, caveat.heading) == (Severity.WARNING, "Interference")


def test_a_side_without_any_turn_left(plain: Findings) -> None:
    findings = with_turns(plain, lambda name, *_: BUSY if name == TENSORFLOW else {})
    (row,) = [row for row in findings.unflagged if row.id.variant == "tuned"]
    assert row.estimate.ratio is None and "no replicate is left" in row.reason
    assert "nothing is left to compare in MNIST CNN, TensorFlow, tuned" in said(findings)
    assert len(findings.unflagged) == len(with_ratio(findings))


def test_the_reference_without_any_turn_left(plain: Findings) -> None:
    findings = with_turns(plain, lambda name, *_: BUSY if "pytorch" in name else {})
    assert {row.estimate.ratio for row in findings.unflagged} == {None}


def test_no_turn_left_but_the_warm_up(plain: Findings) -> None:
    findings = with_turns(plain, lambda name, _, number: BUSY if number else {})
    assert {row.estimate.ratio for row in findings.unflagged} == {None}
    assert "nothing is left to compare in " in said(findings)


def test_a_replicate_less(plain: Findings) -> None:
    findings = with_turns(plain, lambda name, replicate, _: BUSY if replicate == 3 else {})
    assert {row.estimate.replicates for row in with_ratio(findings)} == {7}
    assert {row.estimate.replicates for row in findings.unflagged} == {6}


def test_report_and_files(plain: Findings, tmp_path: Path) -> None:
    findings = with_turns(plain, now_and_then)
    write_report([findings.machine], tmp_path)
    page = (tmp_path / "report.html").read_text().replace("\u00a0", " ")
    for sentence in interference_summary(findings):
        assert sentence.replace("'", "&#39;") in page or sentence in page
    assert "unflagged.csv" in page
    with (tmp_path / "tables" / "unflagged.csv").open() as file:
        assert [row["verdict"] for row in csv.DictReader(file)] == [
            row.estimate.verdict for row in findings.unflagged
        ]


def test_load_in_most_turns_is_a_warning_that_names_whom_it_spares(plain: Findings) -> None:
    """A contender may compute while the others have their turns."""
    findings = with_turns(plain, lambda name, *_: {} if name == TENSORFLOW else BUSY)
    caveat, *_ = (one for one in caveats(findings, 2) if one.heading == "Interference")
    assert caveat.severity == Severity.WARNING
    assert f"of the turns, but hardly one of {TENSORFLOW}, whose processes may" in caveat.text
    findings = with_turns(plain, lambda *_: BUSY)
    caveat, *_ = (one for one in caveats(findings, 2) if one.heading == "Interference")
    assert caveat.text.startswith("Other load disturbed 100 % of the turns. Repeat")


@pytest.mark.parametrize(("turns", "named"), [(20, True), (2, False)])
def test_who_is_spared_may_be_the_load_unless_he_has_hardly_a_turn(turns, named):
    """A contender that has failed had turns of warm-up alone."""

    def line(name: str, disturbed: bool) -> Any:
        return SimpleNamespace(turn=SimpleNamespace(contender=name), reasons=["load"] * disturbed)

    lines = [line(f"{name}/default/cpu/1", True) for name in ("a", "b", "c") for _ in range(20)]
    lines += [line("spoilt/default/cpu/1", False)] * turns
    said = mostly_disturbed(SimpleNamespace(turns=lines))  # type: ignore[arg-type]
    assert "Other load disturbed" in said
    assert ("spoilt/default/cpu/1, whose processes may be that load" in said) == named


@pytest.mark.parametrize(
    ("data_ms", "loader", "warned"), [(9.0, "", 1), (1.9, "", 0), (9.0, "x", 0)]
)
def test_time_that_no_ratio_has_is_compared(data_ms, loader, warned):
    """Steps that were recorded as taking up data would be missing from a ratio."""

    def row(framework: str, ms: float) -> Any:
        own = BenchmarkId("mlp", framework, "default", "cpu", 1)
        return SimpleNamespace(id=own, data_ms=ms, step_ms=10.0)

    rows = [row("pytorch", 1.0), row("tensorflow", 1.1), row("jax", data_ms)]
    contest = SimpleNamespace(
        contenders=[SimpleNamespace(name=rows[2].id.contender, loader=loader)]
    )
    records = SimpleNamespace(trained=["mlp"], contests=[contest])
    findings = SimpleNamespace(contenders=rows, machine=SimpleNamespace(records=records))
    found = [*taken_up(findings)]  # type: ignore[arg-type]
    assert len(found) == warned
    assert all("JAX" in one.seen and "8.2 times as long" in one.seen for one in found)
