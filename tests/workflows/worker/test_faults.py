"""Whatever one contender does, the others are measured and its row says what it did."""

import json
import os
import time
from itertools import permutations

import pandas as pd
import pytest

from benchmarks.kills.study import LOADING, marked
from tests.conftest import PACKAGES, ROOT, package
from tests.packages.faulty.faulty import FAILED, LOADERS, MISSING, OK, OPERATIONS, OUTCOMES
from tests.studies import Clone
from workflows.measure.contest import Contest
from workflows.stages.failures import lasting

CONTEST = {"warmup": 2, "rounds": 2, "turn": 4, "discard": 1, "timeout_s": 8}
CERTIFICATE = {"steps": 10, "optimisers": []}
FEW = (
    "loss-text", "settings-nested", "settings-half-a-character", "weights-vast", "raises-exit",
    "raises-half-a-character", "prints-into-the-pipe", "forks-back", "forks-and-dies", "dies-40",
    "raises-unavailable", "weights-named-vastly", "sets-a-clock", "sets-a-counter",
    "sets-its-faults", "sets-its-memory", "raises-unimplemented", "opening-unavailable",
    "settings-alike",
)  # fmt: skip

# Why certificates refuse weights that no turn of a contest reads.
WEIGHTS = {
    "weights-named-vastly": "names a tensor by 30,000 characters",
    "weights-vast": "numbers, the network has",
}
# Frameworks whose descriptions cannot be imported, and why.
UNLOADABLE = {
    "faulty-crash": "cannot be loaded: importing crashing ends the process (signal 11)",
    "faulty-raise": "cannot be loaded: RuntimeError: no beads in this house",
}
# What a certificate does not ask for.
UNASKED = ("settings-few", "sets-a-counter", "sets-its-faults", "sets-its-memory")


def contenders(*kinds):
    return [{"framework": "abacus"}, {"framework": "faulty", "variants": list(kinds)}]


def unloadable(rows):
    """Rows of frameworks that cannot be loaded, without those that are as expected."""
    found = {row["framework"]: row for row in rows if row["framework"] in UNLOADABLE}
    assert found.keys() == UNLOADABLE.keys()
    right = [name for name, row in found.items()
             if row["status"] == MISSING and row["reason"].endswith(UNLOADABLE[name])]  # fmt: skip
    return [row for name, row in found.items() if name not in right]


def wrong(rows, kinds):
    """Which of a contest's rows are not what their kinds lead to."""
    expected = {**OUTCOMES, **LOADERS, **OPERATIONS}
    found = {row["variant"]: row for row in rows if row["framework"] == "faulty"}
    return {
        kind: (found[kind]["status"], found[kind]["reason"])
        for kind in kinds
        if found[kind]["status"] != expected[kind][0]
        or expected[kind][1] not in found[kind]["reason"]
    }


def made_with(study, monkeypatch, abacus, kinds, mark, **changes):
    """A study of the abacus and of these kinds of faults; `mark` is on all of their processes."""
    monkeypatch.setenv("FAULTS", mark)
    monkeypatch.setenv("PYTHONPATH", f"{PACKAGES / 'faulty'}{os.pathsep}{abacus}")
    own = [*contenders(*kinds), *changes.pop("beside", [])]
    return study(contenders=own, contest=CONTEST, certificate=CERTIFICATE, **changes)


@pytest.mark.brief
def test_some_faults_are_rows_and_cost_nobody_anything(study, abacus, monkeypatch):
    with package("faulty"):
        beside = [{"framework": name, "variants": ["default", "odd"]} for name in UNLOADABLE]
        made = made_with(study, monkeypatch, abacus, FEW, "some", beside=beside)
        record, rows = made.contest()
        certificate = made.certificate("faulty")
        assert made.certificate("abacus").rows[0].status == "agrees"
    found = [one.model_dump() for one in record.contenders]
    assert wrong(found, FEW) == {} and unloadable(found) == []
    assert (rows.framework == "abacus").sum() == 2 + 2 * 4
    assert found[0]["status"] == OK
    reasons = {row.variant: (row.status, row.reason) for row in certificate.rows}
    assert all(reason in reasons[kind][1] for kind, reason in WEIGHTS.items())
    assert reasons["weights-vast"][0] == FAILED
    assert all(status in (OK, "agrees") or reason for status, reason in reasons.values()), reasons
    assert [process for process in marked("FAULTS", "some") if process.pid != os.getpid()] == []


@pytest.mark.parametrize(
    "loaders",
    [
        pytest.param(("loader-text", "loader-dies"), marks=pytest.mark.brief, id="some"),
        pytest.param(tuple(LOADERS), marks=pytest.mark.all, id="all"),
    ],
)
def test_a_fault_of_a_loader_is_a_row(study, abacus, monkeypatch, loaders):
    """It costs nothing else, not even rows of its own framework with other loaders."""
    kinds = ("none", *loaders)
    with package("faulty"):
        made = made_with(
            study, monkeypatch, abacus, kinds, "loaders",
            workloads={"pictures": LOADING["workloads"]["pictures"]}, loaders=["framework-1"],
        )  # fmt: skip
        record, _ = made.contest(workload="pictures")
        certificate = made.certificate("faulty", "pictures")
    found = {c.variant: (c.status, c.reason) for c in record.contenders if c.framework == "faulty"}
    own = [c for c in record.contenders if c.loader == "framework-1"]
    assert wrong([{**c.model_dump(), "variant": c.runs} for c in own], loaders) == {}
    assert {c.status for c in record.contenders if c.framework == "abacus"} == {OK}
    assert {found[kind] for kind in kinds} == {(OK, "")}
    assert {found[f"{kind}+stored"] for kind in loaders} == {(OK, "")}
    assert {row.status for row in certificate.rows} == {"agrees"}
    assert [process for process in marked("FAULTS", "loaders") if process.pid != os.getpid()] == []


@pytest.mark.all
def test_a_fault_of_a_single_operation_is_a_row(study, abacus, monkeypatch):
    kinds = ("none", *OPERATIONS)
    with package("faulty"):
        made = made_with(
            study, monkeypatch, abacus, kinds, "operations",
            workloads={"mlp": False, "divide": {"elements": 5000, "samples": 3, "repeat": 1}},
        )  # fmt: skip
        record, _ = made.contest(workload="divide")
        certificate = made.certificate("faulty", "divide")
    found = [one.model_dump() for one in record.contenders]
    assert wrong(found, OPERATIONS) == {}
    assert {c.status for c in record.contenders if c.framework == "abacus"} == {OK}
    certified = {row.variant: row for row in certificate.rows}
    assert certified["none"].status == "agrees"
    assert {kind for kind in OPERATIONS if certified[kind].status == "agrees"} == set()
    assert all(certified[kind].reason for kind in OPERATIONS)


CUT = "{0} of {0} rows: " + " ".join(map("".join, permutations("abcde", 4)))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("at 1763942912.5 <object at 0x7f3a2c>", "at 1763949999.1 <object at 0x7fffff>", True),
        ("lost at Mon Nov 23 10:00:01 2026", "lost at Tue Nov 24 9:12 2026", True),
        ("no /tmp/tmpabcdef/file", "no /tmp/tmpqwerty/file", True),
        ("not in {'beta', 'alpha'}", "not in {'alpha', 'beta'}", True),
        ("job 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is gone",
         "job 9b2504e0-4f89-abcd-9a0c-0305e82c3302 is gone", True),
        ("1 bead left after 1 day, 2:03", "2 beads left after 2 days, 3:04", True),
        ("at deadbeef, DEADBEEF", "at cafebabe, CAFEBABE", True),
        ("is inf, not -Infinity", "is 3.2, not nan", True),
        ("at 10:00 UTC, 9:12:01 AM CEST", "at 10:00 CET, 9:12:03.5 PM PT", True),
        (f"no ~/scratch/samestep-{'deadbeef' * 2}/samestep-qwertyui/x",
         f"no ~/scratch/samestep-{'01234567' * 2}/samestep-asdfghjk/y", True),
        ("slept for 998 ms with 3 MB of 900 bytes", "slept for 1.2 s with 1.5 GiB of 2 kB", True),
        ("after 59 seconds", "after 1 hour", True),
        ("1 process, 1 index, 1 time, 1 entry", "2 processes, 2 indices, 2 times, 2 entries", True),
        (CUT.format(9)[:400], CUT.format("1,234,567")[:400], True),
        (f"no beads: {CUT.format(9)}"[:400], f"no strings: {CUT.format(9)}"[:400], False),
        ("no device answers in 3 ms", "no thread answers in 3 ms", False),
        ("no ~/samestep-autograd/one", "no ~/samestep-autograd/other", False),
        ("at 10:00 killed by SIGSEGV", "at 10:00 killed by SIGABRT", False),
        ("killed by SIGSEGV", "killed by SIGABRT", False),
        ("no beads left", "no strings left", False),
    ],
)  # fmt: skip
def test_the_same_failure_is_recognised(one, other, same):
    assert (lasting(one) == lasting(other)) == same


def test_a_worker_that_is_killed_while_it_waits_is_noticed_before_the_next_turn(
    study, abacus, monkeypatch
):
    """So that nothing that it has started computes beside the others."""
    turn, alive = Contest.turn, []

    def watched(contest, workload, index, number, *rest):
        if alive:
            alive.append(len(marked("FAULTS", "waits")))
        turn(contest, workload, index, number, *rest)
        if number == 2 and not alive and contest.entrants[index].framework == "abacus":
            (worker,) = (
                worker
                for worker in contest.workers.values()
                if worker.contender.framework == "faulty"
            )
            alive.append(len(worker.left()))
            worker.process.kill()
            worker.process.wait()

    monkeypatch.setattr(Contest, "turn", watched)
    with package("faulty") as folder:
        monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{abacus}")
        monkeypatch.setenv("FAULTS", "waits")
        made = study(contenders=contenders("forks-a-daemon"), contest={**CONTEST, "rounds": 3})
        record, _ = made.contest()
    monkeypatch.delenv("FAULTS")
    assert [row.status for row in record.contenders] == [OK, FAILED]
    assert record.contenders[1].reason.startswith("killed (SIGKILL")
    assert alive[0] >= 1 and set(alive[1:]) == {1}, alive  # the abacus alone


def test_the_page_counts_the_faults():
    page = (ROOT / "docs" / "attacks.md").read_text()
    table = page.partition("## Kills")[0]
    rows = [line.split("|")[2:5] for line in table.splitlines() if line.startswith("| it ")]
    assert f"{len(OUTCOMES)} adapters" in page
    assert f"{len(LOADERS)} more have" in page and len(OPERATIONS) == 9
    kinds, failed, fine = (sum(int(row[place]) for row in rows) for place in range(3))
    right = [status for status, _ in OUTCOMES.values()].count(OK)
    assert (kinds, failed, fine) == (len(OUTCOMES) - 1, len(OUTCOMES) - right, right - 1)


@pytest.mark.all
def test_every_fault_in_one_study(tmp_path, small):
    """All others are measured, the study ends with an error, and only what failed is repeated."""
    changes = {
        "contenders": [*contenders(*OUTCOMES), *({"framework": name} for name in UNLOADABLE)],
        "contest": CONTEST, "certificate": CERTIFICATE, "profile": True,
    }  # fmt: skip
    clone = Clone(tmp_path / "a clone", {**small, **changes})
    clone.variables["PYTHONPATH"] += f"{os.pathsep}{PACKAGES / 'faulty'}"
    clone.variables["FAULTS"] = mark = str(tmp_path)
    begin = time.monotonic()
    output = clone.snakemake(fails=True)
    print(f"\n{len(OUTCOMES)} faults: {time.monotonic() - begin:.0f} s")
    assert len(OUTCOMES) >= 40 and marked("FAULTS", mark) == []
    folder = clone.results / "contests" / "mlp"  # set aside, for the next run to repeat
    (contest,) = json.loads((folder / "1.json.failed").read_text())["contests"]
    assert wrong(contest["contenders"], OUTCOMES) == {} and unloadable(contest["contenders"]) == []
    reasons = {row["variant"]: row["unprofiled"] for row in contest["contenders"]}
    assert all(reasons[kind] for kind in OUTCOMES if kind.startswith("profile-")), reasons
    assert reasons["none"] == ""
    rows = pd.read_parquet(folder / "1.parquet.failed").groupby("contender").size()
    for kind in (kind for kind, (status, _) in OUTCOMES.items() if status == OK):
        assert rows[f"faulty/{kind}/cpu/1"] == rows["abacus/default/cpu/1"] == 2 + 2 * 4, kind
    page = (clone.report / "report.html").read_text()
    assert all(kind in page for kind in OUTCOMES)
    path = clone.results / "certificates" / "mlp" / "faulty.json.failed"
    certified = {row["variant"]: row for row in json.loads(path.read_text())["rows"]}
    assert certified["none"]["status"] == "agrees"
    for kind, reason in WEIGHTS.items():
        assert reason in certified[kind]["reason"]
    for kind, (status, _) in OUTCOMES.items():
        assert certified[kind]["reason"] or certified[kind]["status"] == "agrees", kind
        if status != OK and kind not in UNASKED:
            assert certified[kind]["status"] in (FAILED, MISSING), certified[kind]
    assert all(f"{name} failed when it was opened" in output for name in UNLOADABLE)
    assert "Repeat only those" in output and "Traceback" not in output
    assert {"contest", "certify"} <= clone.would_run()
    assert not {"prepare", "detect", "reference"} & clone.would_run()
    healthy = path.with_name("abacus.json")
    certified_at = healthy.stat().st_mtime_ns
    assert "failed as before" in clone.snakemake(fails=True)
    assert healthy.stat().st_mtime_ns == certified_at
    assert clone.would_run() == {"failures", "all"}
    assert marked("FAULTS", mark) == []
