"""What is checked and said before anything is measured."""

import logging
import os
import sys
from types import SimpleNamespace

import pytest

from frameworks.workloads.datasets.mnist import FOLDER
from tests.conftest import SMALL, findable
from workflows.planning import needs
from workflows.planning.configfiles import parse
from workflows.planning.opening import NotReady, certificates_s, contest_s, opening, require_ready
from workflows.planning.plan import write_request
from workflows.planning.replicates import COMMAND_S
from workflows.planning.todo import CertificatesLeft, Todo, work_s
from workflows.progress import WIDTH
from workflows.records.folders import Folders
from workflows.records.minutes import Spent
from workflows.records.storage import write_json
from workflows.stages.screen import Screen


def where(line):
    return "mine.yaml"


@pytest.fixture
def asked(abacus, small):
    return lambda **changes: parse({**small, **changes})


def test_the_opening_fits_the_screen_and_says_what_is_to_come(asked, tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, "")
    wide = {"from": "mnist-cnn", "filters": [2, 2], "samples": 64}
    study = asked(workloads={"own-digits": wide}, replicates=3, threads=[1, 2])
    lines = opening(study, Folders(tmp_path), where, "reports/small/report.html", "make study")
    text = "\n".join(lines)
    assert max(map(len, lines)) <= WIDTH
    assert "Abacus on own-digits" in text and "1 and 2 threads, CPU" in text
    assert "for 3 replicates" in text and "`make study` goes on" in text
    assert "the built-in stand-in" in text and FOLDER in text  # and how to have MNIST instead
    assert "at least 5, at most 8" in "\n".join(
        opening(asked(minutes=15, replicates=8), Folders(tmp_path), where, "r")
    )


def test_the_estimate_grows_with_what_there_is_to_do(asked):
    one = asked()
    more = asked(contenders=[{"framework": "abacus", "variants": ["default", "slow"]}])
    longer = asked(contest={"warmup": 2, "rounds": 400, "turn": 40})
    assert contest_s(one) < contest_s(more) and contest_s(one) < contest_s(longer)
    assert certificates_s(one) < certificates_s(more)
    assert certificates_s(one) < certificates_s(asked(certificate={"steps": 500}))


def test_the_estimate_knows_of_a_compiler(asked):
    """PyTorch's takes half a minute in each contest."""
    one, compiled = (
        asked(contenders=[{"framework": "pytorch", "variants": variants}], reference="pytorch")
        for variants in (["default"], ["compile"])
    )
    assert contest_s(compiled) > contest_s(one) + 20
    assert certificates_s(compiled) > certificates_s(one) + 20


def test_minutes_that_are_too_few_are_said(asked, tmp_path):
    def said(**changes):
        return " ".join(" ".join(opening(asked(**changes), Folders(tmp_path), where, "r")).split())

    long = {"steps": 10_000}
    assert "Even" not in said(minutes=15, replicates=8)
    assert "contest. Even 5 replicates may take about 3 min, roughly estimated." in said(
        minutes=1, replicates=8, certificate=long
    )
    assert "Even 2 replicates" in said(minutes=1, replicates=2, certificate=long)


def test_a_required_framework_must_be_installed(asked, tmp_path, monkeypatch):
    monkeypatch.setattr("workflows.planning.opening.installed", lambda name, python: {})
    require_ready(asked(), where)
    with pytest.raises(NotReady, match=r"Abacus is required and is not installed .* Install it"):
        require_ready(asked(contenders=[{"framework": "abacus", "required": True}]), where)
    here, there = [
        {"contenders": [{"framework": "abacus", "required": True}], "interpreters": {"abacus": one}}
        for one in (sys.executable, str(tmp_path / "python"))
    ]
    (tmp_path / "python").symlink_to(sys.executable)
    with pytest.raises(NotReady, match=r"Install it \(comes with the tests\), or"):
        require_ready(asked(**here), where)
    with pytest.raises(NotReady, match=r"tests\), and the package of its adapter \(abacus\), or"):
        require_ready(asked(**there), where)


def test_what_cannot_be_loaded_is_said_and_refused_if_it_is_required(asked, tmp_path, monkeypatch):
    findable("faulty", monkeypatch)
    both = [{"framework": "abacus"}, {"framework": "faulty-raise"}]
    lines = opening(asked(contenders=both), Folders(tmp_path), where, "r")
    said = "without     framework 'faulty-raise' cannot be loaded: RuntimeError: no beads"
    assert said in "\n".join(lines)
    require_ready(asked(contenders=both), where)
    with pytest.raises(
        NotReady, match=r"faulty-raise is required: .* cannot be loaded: RuntimeErr"
    ):
        require_ready(asked(contenders=[both[0], {**both[1], "required": True}]), where)


@pytest.mark.parametrize(
    ("python", "why"),
    [
        ("/no/such/python", "No such file"),
        ("/bin/false", "it does not run as a Python"),
        ("/bin/true", "it does not run as a Python"),
    ],
)
def test_an_interpreter_must_start(asked, python, why):
    with pytest.raises(NotReady, match=rf"interpreters\.abacus: {python}: {why}.*its adapter"):
        require_ready(asked(interpreters={"abacus": python}), where)


def test_somebody_must_be_able_to_run(asked):
    with pytest.raises(NotReady, match="threads: no contender can run here: 900 threads asked"):
        require_ready(asked(threads=[900]), where)
    require_ready(asked(threads=[900]), where, cores=1000)


def test_results_of_earlier_code_are_still_to_be_made(asked, tmp_path):
    folders = Folders(tmp_path)
    for number in (1, 2):
        write_json(folders.contest("mlp", number), Spent(seconds=1))
    write_request(folders, asked(), "here", "a test", ["contests/mlp/2.json"])
    todo = Todo(folders)
    assert todo.done(folders.contest("mlp", 1)) and not todo.done(folders.contest("mlp", 2))
    assert todo.holds(folders.contest("mlp", 2)) and not todo.holds(folders.contest("mlp", 1))
    write_json(folders.contest("mlp", 2), Spent(seconds=1))
    assert todo.done(folders.contest("mlp", 2))
    os.utime(folders.contest("mlp", 2), (1, 1))  # as if the clock had been set back
    assert todo.done(folders.contest("mlp", 2))


def test_certificates_are_expected_at_the_pace_of_those_before(study):
    made = study(contenders=[{"framework": "abacus", "variants": ["default", "slow"]}])
    first = CertificatesLeft(made.plan, made.folders, "mlp", None)
    assert first.title == "certificate 1 of 2 · MLP, the reference" and first.left_s(5) is None
    made.folders.reference("mlp").mkdir(parents=True)
    left = []
    for pace in (1, 2):
        took = pace * work_s(made.plan, "mlp", None) - COMMAND_S
        write_json(made.folders.spent("mlp-reference"), Spent(seconds=took))
        second = CertificatesLeft(made.plan, made.folders, "mlp", "abacus")
        assert second.title == "certificate 2 of 2 · MLP, Abacus"
        left.append(second.left_s(0))
        assert second.left_s(0.6 * left[-1]) == pytest.approx(0.4 * left[-1])
        assert 0 < second.left_s(9 * left[-1]) < left[-1]
    assert left == pytest.approx([pace * work_s(made.plan, "mlp", "abacus") for pace in (1, 2)])


class Records(list):
    """What a screen lets through."""

    def __init__(self, cluster=False, **settings):
        quiet = {"dryrun": False, "verbose": False, "printshellcmds": False, **settings}
        settings = SimpleNamespace(**quiet)
        self.screen = Screen(SimpleNamespace(output_settings=settings, non_local_exec=cluster))
        self.screen.report, self.screen.again = "reports/s/report.html", "make study"

    def say(self, text, level=logging.INFO, **extra):
        record = logging.makeLogRecord({"msg": text, "levelno": level, **extra})
        if self.screen.filter(record):
            self.append(record.getMessage())


def test_of_snakemake_the_screen_shows_errors_only():
    said = Records()
    said.say("Select jobs to execute...")
    said.say("Nothing to be done (all requested files are present and up to date).")
    said.say("an odd thing", logging.WARNING)
    said.say('WorkflowError in file "/x/Snakefile", line 3:\nno rule', logging.ERROR)
    said.say("Traceback ...\n  more\nOSError: [Errno 30] Read-only: 'x'\n", logging.ERROR)
    assert said == [
        "Nothing to be done. The report: reports/s/report.html",
        "an odd thing",
        "no rule",
        "[Errno 30] Read-only: 'x' (more in Snakemake's log)",
    ]


@pytest.mark.parametrize("asked", [{"dryrun": True}, {"cluster": True}])
def test_a_dry_run_and_a_cluster_show_everything(asked):
    said = Records(**asked)
    said.say("rule contest:")
    assert said == ["rule contest:"]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("died with <Signals.SIGKILL: 9>.", "SIGKILL: often because the memory was full"),
        ("returned non-zero exit status 137.", "signal 9: often because the memory was full"),
        ("died with <Signals.SIGSEGV: 11>.", "SIGSEGV"),
        ("returned non-zero exit status 1.", ""),
    ],
)
def test_a_failed_job_ends_with_the_way_to_go_on(status, why):
    said = Records()
    said.say("Error in rule contest", logging.ERROR, rule_name="contest", log=["logs/1.log"])
    said.say(f"RuleException:\nCalledProcessError in file x\n{status}", logging.ERROR)
    said.say("Exiting because a job execution failed.", logging.ERROR)
    assert said == []
    end = said.screen.farewell()
    assert (f"was killed ({why})" in end) if why else ("killed" not in end)
    assert "Its log: logs/1.log" in end and end.endswith("go on with:\n  make study\n")


def test_a_study_that_does_not_fit_is_refused(asked, tmp_path, monkeypatch):
    study, folders = asked(), Folders(tmp_path)
    asks = needs.needs(study, folders)
    assert 0 < asks.least < asks.memory and asks.disk > 0
    wider = asked(workloads={"mlp": {"features": 2000, "hidden": [4000], "samples": 400}})
    numbers = asks.least % needs.LEAST_BYTES  # beside what any process takes
    assert needs.needs(wider, folders).least - asks.least > 99 * numbers > 0
    assert any("GB of memory, of" in line for line in opening(study, folders, where, "r"))
    monkeypatch.setattr(needs, "memory_here", lambda: asks.least - 1)
    with pytest.raises(NotReady, match=r"^mine\.yaml: workloads\.mlp: .* Use a smaller network"):
        opening(study, folders, where, "r")
    two = asked(threads=[1, 2])
    monkeypatch.setattr(needs, "memory_here", lambda: asks.least + 1)
    with pytest.raises(NotReady, match=r"^mine\.yaml: contest\.together: .* Make smaller contests"):
        opening(two, folders, where, "r")
    monkeypatch.setattr(needs, "memory_here", lambda: 1e12)
    monkeypatch.setattr(needs, "disk_here", lambda folder: asks.disk - 1)
    with pytest.raises(NotReady, match=r"^\S+: the study writes .* are free there\. Make room"):
        opening(study, folders, where, "r")
    monkeypatch.setenv("SAMESTEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(needs, "disk_here", lambda folder: 1e9)
    alone = asked(isolate=True)
    said = needs.said(needs.needs(alone, folders), folders)
    assert f"0.5 GB to 1.6 GB for environments in {tmp_path}" in said
    monkeypatch.setattr(needs, "disk_here", lambda folder: 1e9 if folder == folders.root else 4e8)
    with pytest.raises(NotReady, match=r"isolated environments take 0\.5 GB at least, and 0\.4 GB"):
        opening(alone, folders, where, "r")


def test_what_layers_give_needs_memory(asked, tmp_path, monkeypatch):
    """Mini-batches of more samples: the weights are the same, and the images between layers are
    not."""
    folders, given = Folders(tmp_path), []
    for batch in (64, 64_000):
        images = {"from": "mnist-cnn", "samples": 64_000, "batch": batch}
        given.append(needs.needs(asked(workloads={"images": images}), folders))
    few, many = given
    saved = 28 * 28 + 13 * 13 * 32 + 5 * 5 * 64 + 3 * 3 * 64 + 64  # before five trained layers
    kept = 4 * 63_936 * saved
    assert many.least - few.least == pytest.approx(kept)
    assert many.memory > few.memory + kept
    monkeypatch.setattr(needs, "memory_here", lambda: kept)
    with pytest.raises(NotReady, match=r"^mine\.yaml: workloads\.images: .* smaller mini-batches"):
        opening(asked(workloads={"images": images}), folders, where, "r")
    on_gpu = asked(workloads={"images": images}, devices=["gpu"])
    assert needs.needs(on_gpu, folders).least < kept


def test_no_contest_holds_what_different_contests_hold(asked, tmp_path):
    """One workload has large weights, and the other has large images between its layers."""
    heavy = {"from": "mlp", "features": 2000, "hidden": [4000], "samples": 400}
    wide = {"from": "mnist-cnn", "samples": 6400, "batch": 6400}
    needed = {}
    for name, works in (("heavy", {"heavy": heavy}), ("wide", {"wide": wide}),
                        ("apart", {"heavy": heavy, "wide": wide})):  # fmt: skip
        study = asked(workloads=works, contest={**SMALL["contest"], "together": False})
        needed[name] = needs.needs(study, Folders(tmp_path)).least
    assert needed["apart"] == max(needed["heavy"], needed["wide"])


def test_a_sweep_that_does_not_fit_is_refused_by_its_key(asked, tmp_path, monkeypatch):
    sweep = {"from": "mlp", "hidden": [8], "samples": 400, "sizes": {"features": [20, 10**6]}}
    monkeypatch.setattr(needs, "memory_here", lambda: 60e6)
    with pytest.raises(NotReady, match=r"sweeps\.wide: a process that trains wide-1000000 holds"):
        opening(asked(workloads={}, sweeps={"wide": sweep}), Folders(tmp_path), where, "r")


def test_a_folder_without_mnist_is_refused_by_the_file_that_names_it(asked, tmp_path, monkeypatch):
    wide = {"from": "mnist-cnn", "filters": [2, 2], "samples": 64}
    study = asked(workloads={"digits": wide}, mnist={"folder": str(tmp_path / "gone")})
    with pytest.raises(
        NotReady, match=rf"^mine\.yaml: mnist\.folder: {tmp_path}/gone: this folder"
    ):
        opening(study, Folders(tmp_path), where, "r")
    monkeypatch.setenv(FOLDER, str(tmp_path / "gone"))
    with pytest.raises(NotReady, match=rf"^{FOLDER}: {tmp_path}/gone: this folder"):
        opening(asked(workloads={"digits": wide}), Folders(tmp_path), where, "r")


def test_a_plan_counts_the_memory_of_certificates_and_warns_if_it_may_be_too_little(
    asked, tmp_path, monkeypatch
):
    """A study of 40 million weights and Adam, which held 3.4 GB then, and 1.6 GB in contests."""
    large = {"features": 4000, "hidden": [5000, 4000], "samples": 40, "optimiser": {"adam": {}}}
    study, folders = asked(workloads={"mlp": large}), Folders(tmp_path)
    assert 3.4e9 < needs.needs(study, folders).memory < 7e9
    text = "\n".join(opening(study, folders, where, "r"))
    assert "warning" not in text
    monkeypatch.setattr(needs, "memory_here", lambda: 3e9)
    text = " ".join("\n".join(opening(study, folders, where, "r")).split())
    assert "warning 3.0 GB of memory may be too little" in text and "contest.together" in text


TINY = {"from": "mlp", "features": 20, "hidden": [8], "samples": 400, "batch": 4}
VARIANTS = ["default", "kept", "slow"]
MANY = {
    "threads": list(range(1, 13)),
    "contenders": [{"framework": "abacus", "variants": VARIANTS}],
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"replicates": 1000, "contest": {"rounds": 600}}, "replicates: .* turns, and 524,"),
        (
            {"controls": {"handicaps": [n / 100 for n in range(1, 21)]},
             "contest": {"rounds": 9000, "turn": 100}},
            "contest: about .* mini-batches in a contest, and 16,777,216 at most can be",
        ),
        (MANY | {"contest": {"rounds": 9000}}, "contest: .* bytes in the record of a contest"),
        (MANY | {"certificate": {"steps": 100_000}, "workloads": dict.fromkeys("ab", TINY)},
         "certificate: about .* bytes in certificates, and 150,000,000"),
        (MANY | {"replicates": 1000, "contest": {"rounds": 1},
                 "workloads": dict.fromkeys("abcdef", TINY)},
         "replicates: about .* bytes in records"),
        (
            MANY | {"loaders": [f"{how}-{n}" for how in ("threads", "processes")
                                for n in range(1, 100)],
                    "threads": list(range(1, 65)), "workloads": {"alexnet-r": None}},
            "contenders: about .* contenders in a contest, with controls",
        ),
    ],
)  # fmt: skip
def test_a_study_whose_records_nobody_could_read_is_refused(asked, changes, said):
    with pytest.raises(NotReady, match=rf"^mine\.yaml: {said}.*\. Ask for fewer [^\n]*$"):
        require_ready(asked(**changes), where, cores=64)
