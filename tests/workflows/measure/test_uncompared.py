"""No-op and the machine's own speed take turns in every contest, and nothing is compared with
them."""

import pytest

from analysis.findings.findings import tables
from analysis.findings.speed.machine_speed import SPEED
from analysis.report.sections.measuring.method import clock
from analysis.report.sections.measuring.times import contender_table
from tests.conftest import package
from tests.workflows.conftest import make_study, several
from workflows.planning.configfiles import ConfigurationError, parse
from workflows.planning.plan import contenders, uncompared
from workflows.planning.provenance import certificate_key, contest_key
from workflows.records.schema import UNCOMPARED

CONTEST = {"warmup": 2, "rounds": 6, "turn": 6, "settle": 2}
OWN_TABLES = {"noop": "harness", "machine": "machine_speed"}


@pytest.fixture(scope="module")
def findings(surroundings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uncompared")
    with package("abacus"):
        made = make_study(
            folder, contenders=several("default", "slow"), replicates=2, contest=CONTEST,
            noop=True, machine_speed=True,
        )  # fmt: skip
        made.contest(), made.contest(replicate=2)
        made.certificate()
        return made.findings(folder / "machine")


@pytest.mark.quiet
def test_noop_takes_turns_and_costs_next_to_nothing(findings):
    (row,) = findings.harness
    assert (row.workload, row.replicates, row.batches) == ("mlp", 2, 2 * 6 * 4)
    median, low, high = row.time
    assert low <= median <= high  # two medians of a coarse clock may tie
    assert row.fastest == "Abacus default" and 0 < row.share < 1
    least = min(line.time.value for line in findings.contenders)
    assert median == pytest.approx(row.share * least)
    assert "µs a mini-batch, at most " in clock(findings.harness)
    assert len(contender_table(findings).rows) == 2
    assert tables([findings])["harness"].count("\n") == 2


@pytest.mark.quiet
def test_the_machine_takes_its_turns_in_every_round_on_the_contenders_cores(findings):
    lines = [line for line in SPEED.of(findings) if line.replicate is not None]
    assert [(line.variant, line.replicate) for line in lines] == [
        ("product", 1), ("product", 2), ("stream", 1), ("stream", 2),
    ]  # fmt: skip
    for line in lines:
        assert (line.workload, line.threads, line.passes) == ("mlp", 1, 6 * 4)
    for compared, apart in zip(
        findings.machine.records.contests, findings.machine.uncompared.contests, strict=True
    ):
        names = {"noop/default/cpu/1", "machine/product/cpu/1", "machine/stream/cpu/1"}
        assert {one.name for one in apart.contenders} == names
        assert [set(order) for order in apart.order] == [names] * 6
        assert sum(turn.round > 0 for turn in apart.turns) == 6 * len(names)
        cores = {tuple(one.cores) for one in [*compared.contenders, *apart.contenders]}
        assert len(cores) == 1


@pytest.mark.quiet
def test_they_are_in_no_other_table(findings):
    for table, text in tables([findings]).items():
        for name in UNCOMPARED:
            assert f"{name}/" not in text, table
            assert table == OWN_TABLES[name] or f",{name}," not in text, table
    assert {one.framework for one in findings.availability} == {"abacus"}
    assert {line.turn.contender for line in findings.turns} == {
        "abacus/default/cpu/1", "abacus/slow/cpu/1",
    }  # fmt: skip


def test_without_them_there_is_no_row(contested):
    record, rows = contested
    assert {one.framework for one in record.contenders} == set(rows.framework) == {"abacus"}
    assert clock([]) == ""


def test_the_machine_runs_on_as_many_threads_as_contenders_can(small, abacus):
    study = parse({**small, "threads": [1, 2, 64, "all"], "noop": True, "machine_speed": True})
    names = [one.name for one in uncompared(study, contenders(study, cores=4))]
    machine = [f"machine/{variant}/cpu/{n}" for variant in ("product", "stream") for n in (1, 2, 4)]
    assert names == ["noop/default/cpu/1", *machine]
    assert not list(uncompared(parse(small), contenders(study, cores=4)))


@pytest.mark.parametrize("key", UNCOMPARED.values())
def test_they_change_the_key_of_contests_but_not_of_certificates(key, small, abacus):
    with_it, without = parse({**small, key: True}), parse(small)
    assert contest_key(with_it, "mlp") != contest_key(without, "mlp")
    assert certificate_key(with_it, "mlp", "abacus") == certificate_key(without, "mlp", "abacus")


@pytest.mark.parametrize(("name", "key"), UNCOMPARED.items())
def test_they_cannot_be_listed_as_contenders(name, key, small, abacus):
    listed = [*small["contenders"], {"framework": name}]
    with pytest.raises(ConfigurationError, match=f"{name} cannot be a contender: `{key}: true`"):
        parse({**small, "contenders": listed})
