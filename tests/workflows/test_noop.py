"""The no-op framework takes turns in every contest and is compared with no contender."""

import pytest

from analysis.data.loading import load
from analysis.findings.findings import Findings, tables
from analysis.findings.harness import harness_cost
from analysis.report.sections.times import contender_table
from tests.conftest import package
from tests.workflows.conftest import make_study, several
from workflows.planning.configfiles import ConfigurationError, parse
from workflows.planning.provenance import certificate_key, contest_key
from workflows.records.storage import write_batches, write_json
from workflows.stages.collect import collect

CONTEST = {"warmup": 2, "rounds": 6, "turn": 6, "settle": 2}


@pytest.fixture(scope="module")
def findings(surroundings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("harness")
    with package("abacus"):
        made = make_study(
            folder, contenders=several("default", "slow"), replicates=2, contest=CONTEST,
            noop=True,
        )  # fmt: skip
        made.contest(), made.contest(replicate=2)
        made.certificate()
        records, batches = collect(made.folders)
    write_json(folder / "machine" / "records.json", records)
    write_batches(folder / "machine" / "batches.parquet", batches)
    return Findings(load([folder / "machine"])[0])


@pytest.mark.quiet
def test_noop_takes_turns_and_costs_next_to_nothing(findings):
    (row,) = findings.harness
    assert (row.workload, row.replicates, row.batches) == ("mlp", 2, 2 * 6 * 4)
    assert row.low_ms <= row.median_ms <= row.high_ms  # two medians of a coarse clock may tie
    assert row.fastest == "Abacus default" and 0 < row.share < 1
    assert row.median_ms == pytest.approx(
        row.share * min(line.median_ms for line in findings.contenders)
    )
    assert "of the fastest (Abacus default)" in harness_cost(findings.harness)
    assert contender_table(findings).rows[-1][3] == "nothing: the harness itself"
    assert tables([findings])["harness"].count("\n") == 2


@pytest.mark.quiet
def test_noop_is_in_no_other_table(findings):
    for name, text in tables([findings]).items():
        assert "noop/" not in text and (name == "harness" or ",noop," not in text), name
    assert {one.framework for one in findings.availability} == {"abacus"}
    assert {line.turn.contender for line in findings.turns} == {
        "abacus/default/cpu/1", "abacus/slow/cpu/1",
    }  # fmt: skip


def test_without_noop_there_is_no_row(contested):
    record, rows = contested
    assert {one.framework for one in record.contenders} == set(rows.framework) == {"abacus"}
    assert harness_cost([]) == ""


def test_noop_changes_the_key_of_contests_but_not_of_certificates(small, abacus):
    with_it, without = parse({**small, "noop": True}), parse(small)
    assert contest_key(with_it, "mlp") != contest_key(without, "mlp")
    assert certificate_key(with_it, "mlp", "abacus") == certificate_key(without, "mlp", "abacus")


def test_noop_cannot_be_listed_as_a_contender(small, abacus):
    listed = [*small["contenders"], {"framework": "noop"}]
    with pytest.raises(ConfigurationError, match="noop cannot be a contender: `noop: true`"):
        parse({**small, "contenders": listed})
