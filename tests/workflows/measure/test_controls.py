"""Controls: which contenders they repeat, how a contest runs them, how the report judges them."""

import pytest

from workflows.measure.contest import Contest
from workflows.planning.configfiles import parse
from workflows.planning.plan import contenders, controls
from workflows.planning.provenance import certificate_key, contest_key

BOTH = [{"framework": "abacus", "variants": ["default", "kept"]}]
FEW = {"variant": "kept", "handicaps": [2.0]}


def named(configuration, cores=2, missing=()):
    study = parse(configuration)
    planned = list(contenders(study, cores))
    for contender in planned:
        if contender.name in missing:
            contender.missing = "not here"
    return [c.name for c in controls(study, planned)]


@pytest.fixture
def wide(abacus, small):
    return {**small, "contenders": BOTH, "threads": ["all", 1], "devices": ["gpu", "cpu"]}


def test_controls_repeat_the_plainest_contender_of_the_variant(wide):
    asked = {**wide, "controls": FEW}
    assert named(asked) == ["abacus/kept+twin/cpu/1", "abacus/kept+200%/cpu/1"]
    assert named(asked, missing={"abacus/kept/cpu/1"})[0] == "abacus/kept+twin/cpu/2"
    gone = {f"abacus/kept/{device}/{n}" for device in ("cpu", "gpu") for n in (1, 2)}
    assert named(asked, missing=gone)[0] == "abacus/default+twin/cpu/1"


def test_if_the_variant_is_missing_controls_repeat_the_first_contender(wide):
    assert named({**wide, "controls": {"variant": "tuned"}})[0] == "abacus/default+twin/cpu/1"


def test_controls_of_all_leave_out_pitfalls_and_missing_contenders(wide):
    entry = [{"framework": "abacus", "variants": ["default", "trap-epsilon"], "devices": ["cpu"]}]
    asked = {**wide, "contenders": entry, "controls": {"of": "all", "handicaps": []}}
    assert named(asked) == ["abacus/default+twin/cpu/2", "abacus/default+twin/cpu/1"]
    assert named(asked, missing={"abacus/default/cpu/1"}) == ["abacus/default+twin/cpu/2"]


def test_there_are_no_controls_if_none_are_configured_or_nothing_can_run(wide):
    assert named({**wide, "controls": False}) == []
    everybody = {c.name for c in contenders(parse(wide), 2)}
    assert named({**wide, "controls": FEW}, missing=everybody) == []


def test_controls_change_the_key_of_contests_but_not_of_certificates(small, abacus):
    with_them, without = parse({**small, "controls": FEW}), parse(small)
    assert contest_key(with_them, "mlp") != contest_key(without, "mlp")
    alone = parse({**small, "controls": {**FEW, "alone": True}})
    assert contest_key(with_them, "mlp") == contest_key(alone, "mlp")
    assert certificate_key(with_them, "mlp", "abacus") == certificate_key(without, "mlp", "abacus")


@pytest.mark.quiet
def test_a_contest_with_controls(study, tmp_path, monkeypatch):
    built, slowed = [], set()
    ask = Contest.ask

    def watched(self, index, do, **arguments):
        if do == "build":
            built.append((arguments["variant"], self.workers[index].process.pid))
        if do == "turn":
            slowed.add((self.entrants[index].variant, arguments["slowed_by"]))
        return ask(self, index, do, **arguments)

    monkeypatch.setattr(Contest, "ask", watched)
    contest = {"warmup": 2, "rounds": 6, "turn": 6, "discard": 2}
    made = study(contenders=BOTH, replicates=2, contest=contest, controls=FEW)
    record, rows = made.contest()
    made.contest(replicate=2)
    assert sorted(variant for variant, _ in built[:3]) == ["default", "kept", "kept"]
    assert len({pid for _, pid in built[:3]}) == 3  # one for each contender, one for controls
    assert slowed == {("default", 0), ("kept", 0), ("kept+twin", 0), ("kept+200%", 2)}
    assert {c.variant: (c.status, c.runs, c.slowed_by) for c in record.contenders} == {
        "default": ("ok", "", 0.0), "kept": ("ok", "", 0.0),
        "kept+twin": ("ok", "kept", 0.0), "kept+200%": ("ok", "kept", 2.0),
    }  # fmt: skip
    assert all(c.took_s and c.took_s > 0 for c in record.contenders)
    assert sum(c.took_s for c in record.contenders) < record.duration_s
    # Side by side in all rounds, on the same mini-batches, with the same losses.
    assert all(len(order) == 4 for order in record.order)
    for _, own in rows.groupby("contender"):
        assert list(own.step) == list(range(2 + 6 * 6))
    assert rows.groupby(["round", "batch"]).loss.nunique().eq(1).all()
    probed = {c.variant for c in record.contenders if "effective_epsilon" in c.settings}
    assert probed == {"default", "kept"}
    assert "precision" in record.contenders[-1].settings

    made.certificate()
    findings = made.findings(tmp_path / "machine")
    certificates = findings.machine.records.certificates
    assert not [row for one in certificates for row in one.rows if "+" in row.variant]
    found = {row.id.variant: row for row in findings.controls}
    assert set(found) == {"kept+twin", "kept+200%"}
    assert {row.of for row in found.values()} == {"kept"}
    more, twin = found["kept+200%"].ratio.value, found["kept+twin"].ratio.value
    assert more and twin and 2 < more / twin < 4.5  # of two replicates, on a busy machine
    assert not findings.loss_check.faults
    assert {row.id.variant for row in findings.settings} == {"default", "kept"}


@pytest.mark.parametrize("variant", ["raises", "killed"])
def test_controls_fail_with_their_contender_and_the_others_go_on(study, variant):
    both = [{"framework": "abacus", "variants": ["default", variant]}]
    made = study(contenders=both, controls={"variant": variant, "handicaps": [0.5]})
    record, rows = made.contest()
    found = {c.variant: c for c in record.contenders}
    assert found["default"].status == "ok"
    for name in (variant, f"{variant}+twin", f"{variant}+50%"):
        assert found[name].status == "failed", name
    assert (rows.contender == "abacus/default/cpu/1").sum() == 2 + 4 * 4


def test_controls_of_a_contender_that_cannot_start_are_rows_with_the_reason(study, monkeypatch):
    made = study(controls=FEW)
    for one in [*made.plan.contenders, *made.plan.controls]:
        one.interpreter = "/no/such/python"
    record, rows = made.contest()
    assert rows.empty
    assert {c.reason for c in record.contenders} == {
        "cannot start /no/such/python: No such file or directory"
    }
