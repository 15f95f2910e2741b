"""A contest of several workloads: blocks of turns, shared processes, and what a failure costs."""

import json
from datetime import UTC, datetime

import pytest

from tests.conftest import SMALL, built_once, package
from tests.workflows.conftest import contest_on, folders_in, make_study, several
from workflows.measure.contest import Contest, hold
from workflows.measure.contest_file import ContestFile
from workflows.planning.plan import PlanError
from workflows.records.columns import BATCHES
from workflows.records.storage import read_json
from workflows.stages.collect import collect
from workflows.stages.failures import failures, ways

WIDE = {"from": "mlp", "features": 30, "hidden": [8], "samples": 400, "batch": 4}
BOTH = {**SMALL["workloads"], "wide": WIDE}
DEAL = {"warmup": 2, "rounds": 12, "turn": 3, "discard": 1}
GROUP = "mlp+wide"


@pytest.fixture(scope="module")
def folders(surroundings, tmp_path_factory):
    """A contest of two workloads, and the contests of each one alone."""

    def build(folder):
        with package("abacus"):
            for name, together in (("shared", True), ("apart", False)):
                deal = {**DEAL, "together": together}
                made = make_study(
                    folder / name, workloads=BOTH, contest=deal,
                    contenders=several("default", "kept", "slow"),
                )  # fmt: skip
                for group in made.plan.study.groups:
                    hold(made.plan, group, 1, made.folders)

    return built_once(tmp_path_factory, "groups", build)


@pytest.fixture(scope="module")
def shared(folders):
    """Record and mini-batches by workload."""
    return {name: contest_on(folders_in(folders / "shared"), GROUP, name) for name in BOTH}


def test_in_every_round_the_workloads_follow_each_other(shared):
    turns = [(turn, name) for name, (record, _) in shared.items() for turn in record.turns]
    turns.sort(key=lambda pair: pair[0].start_ns)
    blocks = [[(turn.round, name) for turn, name in turns[at : at + 3]]
              for at in range(0, len(turns), 3)]  # fmt: skip
    assert all(len(set(block)) == 1 for block in blocks)
    firsts = [block[0] for block in blocks]
    assert [number for number, _ in firsts] == [n for n in range(13) for _ in range(2)]
    order = [name for _, name in firsts[::2]]
    assert order[0] == "mlp" and set(order) == set(BOTH)


def test_in_warm_up_the_replicates_take_turns_in_which_workload_comes_first(study, shared):
    assert [record.place for record, _ in shared.values()] == [0, 1]
    starts = [min(turn.start_ns for turn in record.turns) for record, _ in shared.values()]
    assert starts == sorted(starts)
    made = study(workloads=BOTH, replicates=2)
    made.contest(2)
    second = [contest_on(made.folders, GROUP, name, 2)[0] for name in BOTH]
    assert [record.place for record in second] == [1, 0]
    assert second[0].turns[0].start_ns > second[1].turns[0].start_ns


def test_each_workload_has_an_order_of_its_own_and_all_its_mini_batches(shared):
    (mlp, first), (wide, second) = shared.values()
    assert mlp.order != wide.order
    for record, rows in ((mlp, first), (wide, second)):
        assert len(rows) == 3 * (2 + 12 * 3) and len(record.turns) == 3 * 13
        for number, order in enumerate(record.order, 1):
            dealt = rows[rows["round"] == number].sort_values("start_ns")
            assert list(dict.fromkeys(dealt.contender)) == order
        for _, own in rows.groupby("contender"):
            assert list(own.step) == list(range(2 + 12 * 3))


def test_a_workload_computes_what_it_computes_alone(folders, shared):
    for name, (_, rows) in shared.items():
        _, alone = contest_on(folders_in(folders / "apart"), name, name)
        keys = ["contender", "round", "batch"]
        together, apart = (frame.set_index(keys).loss.sort_index() for frame in (rows, alone))
        assert together.equals(apart)


def test_what_is_shared_is_on_every_record(shared):
    (mlp, _), (wide, _) = shared.values()
    assert {mlp.group, wide.group} == {GROUP} and mlp.seed == wide.seed
    imports = [[c.import_s for c in record.contenders] for record in (mlp, wide)]
    assert imports[0] == imports[1] and any(imports[0])
    for record in (mlp, wide):
        assert all(c.status == "ok" and c.settings and c.build_s for c in record.contenders)
        assert 0 < sum(c.took_s for c in record.contenders) < record.duration_s
        assert sum(turn.duration_s for turn in record.turns) < record.duration_s


def test_a_workload_has_its_own_time_and_half_of_what_is_shared(study):
    made = study(workloads=BOTH)
    contest = Contest(made.plan, GROUP, 1, made.folders)
    contest.spent_s = {"mlp": 6.0, "wide": 2.0}
    found = contest.result(datetime.now(UTC), 10.0, {})
    assert [one.duration_s for one in found.contests] == [7.0, 3.0]
    assert found.duration_s == 10.0


def test_one_process_serves_all_workloads(study, monkeypatch):
    asked, ask = set(), Contest.ask

    def watched(self, index, do, **arguments):
        if do in ("build", "turn"):
            asked.add((arguments["on"], index, self.workers[index].process.pid))
        return ask(self, index, do, **arguments)

    monkeypatch.setattr(Contest, "ask", watched)
    study(workloads=BOTH, contenders=several("default", "kept")).contest()
    assert len(asked) == 4 and len({pid for _, _, pid in asked}) == 2


def test_a_process_that_ends_fails_on_all_workloads_and_says_where_it_ended(study):
    contest = {**DEAL, "rounds": 2}
    made = study(workloads=BOTH, contest=contest, contenders=several("default", "killed", "raises"))
    made.contest()
    found = {name: contest_on(made.folders, GROUP, name) for name in BOTH}
    killed = {name: record.contenders[1].reason for name, (record, _) in found.items()}
    (at,) = (name for name, reason in killed.items() if "(on" not in reason)
    (other,) = set(BOTH) - {at}
    assert killed[at].startswith("killed (SIGKILL")
    assert killed[other] == f"{killed[at]} (on {at})"
    for record, rows in found.values():
        assert [c.status for c in record.contenders] == ["ok", "failed", "failed"]
        # An exception leaves the process alive: the other workload finds its own.
        assert record.contenders[2].reason == "out of memory: MemoryError: no beads left"
        sizes = rows.groupby("variant").size()
        assert sizes["default"] == 2 + 2 * 3 and sizes["raises"] == 2
    ((path, lines),) = failures(made.folders, made.plan.study)
    assert path == made.folders.contest(GROUP, 1) and len(lines) == 4
    assert lines[0] == f"mlp, replicate 1: abacus/killed/cpu/1: {killed['mlp']}"
    assert len(ways(path)) == 4


def test_a_workload_that_is_not_supported_costs_the_other_nothing(study):
    cnn = {"mnist-cnn": {"samples": 400, "batch": 4, "filters": [2, 2]}}
    made = study(workloads={**cnn, **SMALL["workloads"]})
    record, rows = made.contest()
    assert record.contenders[0].status == "ok" and len(rows) == 2 + 4 * 4
    other, none = contest_on(made.folders, "mnist-cnn+mlp", "mnist-cnn")
    lacks = "an abacus has no conv2d, flatten, max_pool, sparse_cross_entropy"
    assert (other.contenders[0].status, other.contenders[0].reason) == ("missing", lacks)
    assert none.empty


def test_collected_records_are_by_workload_and_replicate(study):
    made = study(workloads=BOTH, replicates=2)
    for replicate in (1, 2):
        made.contest(replicate)
    records, batches = collect(made.folders)
    keys = [("mlp", 1), ("mlp", 2), ("wide", 1), ("wide", 2)]
    assert [(one.workload, one.replicate) for one in records.contests] == keys
    assert batches.schema == BATCHES and batches.num_rows == 4 * (2 + 4 * 4)
    frame = batches.to_pandas()
    assert list(dict.fromkeys(zip(frame.workload, frame.replicate, strict=True))) == keys


def test_a_file_of_one_record_is_read_as_before(folders, tmp_path):
    path = folders_in(folders / "apart").contest("mlp", 1)
    today = read_json(path, ContestFile)
    (record,) = json.loads(path.read_text())["contests"]
    del record["group"]
    (tmp_path / "1.json").write_text(json.dumps(record))
    (before,) = read_json(tmp_path / "1.json", ContestFile).contests
    assert before == today.contests[0].model_copy(update={"group": ""})


def test_an_unknown_group_is_named(study):
    made = study(workloads=BOTH)
    with pytest.raises(PlanError, match=r"no group 'mlp' \(it has: mlp\+wide\)"):
        hold(made.plan, "mlp", 1, made.folders)
