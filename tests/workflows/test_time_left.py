"""The time left, from contests that are done and from the pace of the present one."""

import pytest

from tests.conftest import SMALL
from workflows.measure.contest_file import ContestFile
from workflows.measure.time_left import REPORT_S, TimeLeft
from workflows.planning.configfiles import parse
from workflows.planning.plan import Plan
from workflows.planning.replicates import AROUND_S, choose, contests_key
from workflows.records.folders import Folders
from workflows.records.schema import Code, ContestRecord
from workflows.records.storage import write_json

TINY = SMALL["workloads"]["mlp"]


@pytest.fixture
def time_left(abacus, tmp_path):
    """`time_left(group, replicate)` in a study of two groups and three replicates; `done` maps
    contests that were held to the seconds of each of their workloads."""
    workloads = {name: {"from": "mlp", **TINY} for name in "abc"}
    contest = {"together": [["a", "b"], ["c"]], "rounds": 4}
    base = {**SMALL, "workloads": workloads, "contest": contest, "replicates": 3}

    def make(group, replicate, done=(), **changes):
        values = parse({**base, **changes}).model_dump(mode="json")
        plan = Plan(machine="here", command="", configuration=values, contenders=[])
        folders = Folders(tmp_path)
        for (name, number), seconds in dict(done).items():
            records = [held(workload, number, seconds) for workload in name.split("+")]
            write_json(folders.contest(name, number), ContestFile(contests=records))
        return TimeLeft(plan, folders, group, replicate)

    return make


def held(workload, replicate, seconds):
    return ContestRecord(
        study="small", machine="here", workload=workload, replicate=replicate,
        started="2026-11-23T14:00:00+00:00",
        duration_s=seconds, seed=1, order=[], code=Code(version="", commit="", dirty=False),
        configuration="", system_info={}, contenders=[],
    )  # fmt: skip


def test_the_first_contest_is_judged_by_the_pace_of_its_rounds(time_left):
    first = time_left("a+b", 1)
    assert first.title == "contest 1 of 6"
    assert first.left_s(0, 20) is None and first.left_s(0.2, 60) is None  # one round of five
    assert first.left_s(0.4, 90) is None and first.left_s(0.45, 95) is None
    # 90 s to start, to warm up and for the first round, which may compile, and 60 s for the three
    # others; nothing is known of the other group.
    assert first.left_s(0.6, 110) == pytest.approx(40 + 5 * 150 + REPORT_S)
    assert first.left_s(0.8, 130) == pytest.approx(20 + 5 * 150 + REPORT_S)


def test_contests_that_are_done_say_what_the_others_take(time_left):
    done = {("a+b", 1): 50.0, ("c", 1): 30.0, ("a+b", 2): 60.0}
    later = time_left("c", 2, done)
    assert later.title == "contest 4 of 6"
    others = 110 + 30  # a+b and c once more each; both workloads of a+b count
    assert later.left_s(0, 10) == pytest.approx(20 + others + REPORT_S)
    assert later.left_s(0.7, 20) == pytest.approx(10 + others + REPORT_S)
    assert later.left_s(0.7, 40) == pytest.approx(
        10 + others + REPORT_S
    )  # late, but half is to come


def test_before_the_number_is_fixed_as_many_as_would_fit_are_expected(time_left):
    limit = {"minutes": (565 + AROUND_S) / 60}
    first = time_left("a+b", 1, replicates=9, **limit)
    assert first.title == "contest 1 of 10 to 18"
    assert first.left_s(0.7, 20) == pytest.approx(
        20 + 13 * 40 + REPORT_S
    )  # seven of each group in 560 s
    second = time_left("c", 1, {("a+b", 1): 20.0}, replicates=None, **limit)
    assert second.title == "contest 2 of 10 or more"
    # 40 s, as both workloads of a+b took, and 100 s: four would fit, so that there are five.
    assert second.left_s(0.7, 50) == pytest.approx(50 + 4 * 140 + REPORT_S)


def test_on_a_slow_machine_the_limit_does_not_hide_that_it_takes_longer(time_left):
    first = time_left("a+b", 1, replicates=9, minutes=5)
    assert first.left_s(0, 20) == pytest.approx(280)
    assert first.left_s(0.1, 100) == pytest.approx(4 * 100 + REPORT_S)


def test_once_the_number_is_fixed_it_counts(time_left, tmp_path):
    done = {("a+b", 1): 10.0, ("c", 1): 20.0}
    limit = {"minutes": 15, "replicates": 8}
    study = time_left("a+b", 2, done, **limit).study
    record = choose(study, contests_key(study), 0, {"a+b": 20.0, "c": 120.0})
    assert record.replicates == 6
    write_json(Folders(tmp_path).replicates, record)
    later = time_left("a+b", 2, done, **limit)
    assert later.title == "contest 3 of 12"
    assert later.left_s(0.7, 10) == pytest.approx(10 + 4 * 20 + 5 * 20 + REPORT_S)


def test_a_damaged_record_does_not_count(time_left, tmp_path):
    time_left("a+b", 1, {("a+b", 2): 50.0})
    Folders(tmp_path).contest("a+b", 2).write_text("{")
    assert time_left("a+b", 1).title.startswith("contest 1 of 6")
