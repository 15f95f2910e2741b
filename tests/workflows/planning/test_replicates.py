"""How many replicates fit in a study's minutes, and that the number stays."""

import pytest

from workflows.planning.configfiles import parse
from workflows.planning.plan import PlanError
from workflows.planning.replicates import (
    AROUND_S,
    COMMAND_S,
    announcement,
    choose,
    counting,
    fitting,
    reckoning,
    spent_s,
)
from workflows.records.folders import Folders
from workflows.records.limits import TURNS
from workflows.records.minutes import ReplicatesRecord, timed
from workflows.records.storage import read_json, write_json
from workflows.stages import prepare
from workflows.stages.replicates import fix


@pytest.fixture
def asked(abacus, small):
    """`asked(minutes, replicates)`: a configuration."""

    def make(minutes, replicates=None):
        return parse({**small, "minutes": minutes, "replicates": replicates})

    return make


@pytest.mark.parametrize(
    ("before_s", "each_s", "most", "number"),
    [
        (0.0, 100.0, None, 8),  # 875 s are left of 900
        (175.0, 100.0, None, 7),  # exactly 700 s
        (175.1, 100.0, None, 6),
        (312.0, 108.0, None, 5),  # 5.2
        (312.0, 300.0, None, 5),  # 1.9, but never fewer than five
        (2000.0, 1.0, None, 5),  # the time is over
        (0.0, 100.0, 6, 6),
        (0.0, 400.0, 3, 3),  # the most asked for goes before the least
        (0.0, 0.1, None, 1000),  # the most that a study may have
    ],
)
def test_as_many_as_fit_but_five_at_least(asked, before_s, each_s, most, number):
    assert AROUND_S == 25
    assert fitting(asked(15, most), before_s, each_s) == number


def test_no_more_than_records_hold(abacus, small):
    contest = {"rounds": 2000, "turn": 2}
    study = parse({**small, "replicates": None, "minutes": 10_000, "contest": contest})
    found = chosen(study, 10.0)
    assert found.replicates == TURNS // 2001
    assert "the most that records can hold" in found.sentence


def chosen(study, cost_s, before_s=0.0, earlier=None, key="k"):
    return choose(study, key, before_s, {"mlp": cost_s - COMMAND_S}, earlier)


@pytest.mark.parametrize(
    ("most", "cost_s", "sentence"),
    [
        (None, 100, "8 replicates, as many as fit in 15 minutes, fixed after the first contest."),
        (
            6, 100,
            "6 replicates, the most asked for, which fit in 15 minutes, fixed after the first "
            "contest.",
        ),
        (
            8, 300,
            "5 replicates, the fewest there may be, which take about 26 minutes rather than 15 "
            "minutes, fixed after the first contest.",
        ),
    ],
)  # fmt: skip
def test_it_says_how_the_number_was_fixed(asked, most, cost_s, sentence):
    record = chosen(asked(15, most), cost_s)
    assert record.sentence == sentence
    assert record.total_s == record.replicates * cost_s + AROUND_S


def test_it_says_what_the_number_follows_from(asked):
    record = choose(asked(15), "", 312.04, {"mlp": 60.0, "mnist-cnn": 46.4})
    assert record.replicates == 5 and record.sentence.endswith("first contest of each group.")
    assert reckoning(record) == (
        "312 s before, 60 s and 46 s for the contests of a replicate, 25 s for the report: "
        "about 15 minutes in all"
    )
    alone = choose(asked(15), "", 312.04, {"mlp": 108.0})
    assert reckoning(alone).startswith("312 s before, 108 s a contest, ")


@pytest.mark.parametrize(
    ("minutes", "most", "number"),
    [
        (15, None, 8),  # nothing has changed, although a contest now takes longer
        (30, None, 8),  # 7 would fit
        (60, None, 14),
        (5, None, 8),  # none is left out for the sake of time
        (5, 6, 6),  # but for a number that is asked for
        (60, 10, 10),
    ],
)
def test_a_number_that_was_fixed_only_grows(asked, minutes, most, number):
    earlier = chosen(asked(15), 100)
    assert earlier.replicates == 8
    later = chosen(asked(minutes, most), 250, earlier=earlier)
    assert later.replicates == number
    if minutes == 15:
        assert later == earlier
    else:
        assert "; 8 had been fixed for 15 minutes before." in later.sentence


def test_the_announcement(asked, tmp_path):
    folders = Folders(tmp_path)
    assert announcement(folders, asked(None, 3)) == ""
    assert announcement(folders, asked(15, 8)) == (
        "As many replicates as fit in 15 minutes (at least 5, at most 8): fixed after the first "
        "contest."
    )
    assert "(at least 5):" in announcement(folders, asked(15))


def test_the_time_before_is_that_of_the_commands_of_the_study(asked, tmp_path):
    folders, study = Folders(tmp_path), asked(15)
    assert spent_s(folders, study) == 0
    for name in ("detect-abacus", "mlp-prepare", "mlp-reference", "mlp-certificate-abacus",
                 "detect-former", "former-prepare"):  # fmt: skip
        with timed(folders.spent(name)):
            pass
    assert spent_s(folders, study) == pytest.approx(4 * COMMAND_S, abs=0.5)
    with pytest.raises(KeyError), timed(folders.spent("failed")):
        raise KeyError
    assert not folders.spent("failed").exists()


def test_the_stages_of_a_study_record_their_time_and_fix_the_number(study, monkeypatch):
    """By the command line, as without Snakemake."""
    made = study(minutes=0.01, replicates=7)
    folders, root = made.folders, str(made.folders.root)
    with pytest.raises(PlanError, match="first contest of mlp comes first"):
        fix(folders)
    assert counting(folders, made.plan.study) == range(1, 8)
    monkeypatch.setattr("sys.argv", ["prepare", "--study", root, "--workload", "mlp"])
    assert prepare.main() == 0
    contest, _ = made.contest()
    record = fix(folders)
    assert record is not None and record.replicates == 5
    assert counting(folders, made.plan.study) == range(1, 6)
    assert record.contests_s == {"mlp": pytest.approx(contest.duration_s)}
    assert record.before_s == pytest.approx(spent_s(folders, made.plan.study), abs=0.1)
    assert record.before_s >= COMMAND_S
    # Of contests that are measured otherwise nothing was known.
    other = record.model_copy(update={"key": "of before", "replicates": 7})
    write_json(folders.replicates, other)
    assert "As many" in announcement(folders, made.plan.study)
    again = fix(folders)
    assert again == record == read_json(folders.replicates, ReplicatesRecord)
    assert announcement(folders, made.plan.study) == record.sentence


def test_without_minutes_nothing_is_fixed(study):
    made = study(replicates=3)
    assert fix(made.folders) is None and not made.folders.replicates.exists()
    assert counting(made.folders, made.plan.study) == range(1, 4)
