"""The command `samestep`: every command, its example, and what it says if something is wrong."""

import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path

import numpy as np
import pytest
import yaml

import analysis.__main__
import analysis.repeats.__main__
import frameworks
from frameworks.contract import Conditions, Unavailable
from frameworks.registry import open_adapter
from frameworks.workloads import from_dict, initial_weights, load, to_dict
from samestep.__main__ import COMMANDS, main
from samestep.commands import new, validate
from tests.conftest import ROOT, python

METHODS = {
    "restart": [{}], "weights": [], "put": [np.zeros((2, 3)), np.zeros(2)], "step": [None],
    "synchronise": [], "loss": [],
}  # fmt: skip


def test_words_that_are_too_many_show_how_the_command_is_used(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["plan", "mine.yaml"])
    said = capsys.readouterr().err
    assert "samestep plan [-h] [--configfile FILE" in said and "arguments: mine.yaml" in said


def test_no_name_is_not_the_current_folder(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["report", "reference", "--out", ""])
    assert "argument --out: invalid place value: ''" in capsys.readouterr().err


def refused(capsys, *words):
    assert main(words) == 2
    out, message = capsys.readouterr()
    assert out == ""
    return message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["list", "pytroch"], "no framework 'pytroch', did you mean 'pytorch'? (there are:"),
        (["workload", "mnist-cn"], "no workload 'mnist-cn' in the catalogue, did you mean"),
        (["workload", "mlp", "--configfile", "no.yaml"], "no.yaml: No such file"),
        (["new", "pytorch"], "there is a framework 'pytorch' already"),
        (["new", "workloads"], "frameworks/workloads is something else already"),
        (["new", "My-Net"], "'My-Net' cannot be a module: at most 24 lower-case letters"),
        (["new", "My-Net"], "'my_net' would do"),
        (["new", "class"], "'class' cannot be a module, because it is a word of Python"),
        (["new", "a" * 25], "at most 24"),
        (["new", "mine", "--into", "there"], "--into needs --package"),
        (["lits"], "no command 'lits', did you mean 'list'? (there are: list, new, check,"),
        (["check", "pytroch"], "no framework 'pytroch', did you mean 'pytorch'? (there are:"),
        (["check", "pytorch", "--variant", "tune"], "pytorch has no variant 'tune' (it has"),
        (["check", "pytorch", "--threads", "0"], "--threads 0: at least 1"),
        (["check", "pytorch", "--threads", "10000"], "--threads 10000: at least 1, and 9,999 at"),
        (
            ["check", "pytorch", "--rule", "fense"],
            "no rule 'fense', did you mean 'fence'? (there are",
        ),
        (["check", "pytorch", "--interpreter", "no/python"], "no/python: no such program"),
        (["check", "pytorch", "--interpreter", "/bin/ls"], "/bin/ls: it does not run as a Python"),
        (["report", "referense"], "no study 'referense', did you mean 'reference'? (there are:"),
        (["compare", "reference"], "compare needs two studies or more"),
        (["compare", "reference", "twice"], "twice was run on several machines: name one"),
        (["compare", *["reference"] * 3, "--earlier", "early"], "--earlier needs two studies"),
        (["compare", "reference", "nothing"], "no study 'nothing' (there are: early, reference"),
        (["open", "referense"], "no report 'referense', did you mean 'reference'? (there are:"),
        (["open", "early"], "early has records and no report yet: samestep report early writes"),
        (["report", ""], "'' names no study: give a study's name or folder"),
        (["compare", "reference", " "], "' ' names no study"),
        (["report", "reference", "--earlier", ""], "'' names no study"),
        (["share", ""], "'' names no study"),
        (["open", ""], "'' names no study"),
        (["validate", "no-records"], "no-records: no such folder"),
    ],
)
def test_what_is_wrong_is_said_in_words(capsys, clone, words, message):
    assert message in refused(capsys, *words)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder to be in, with reports: one finished study, one of two machines, one begun."""
    for study, machines in {
        "reference": ["here"],
        "twice": ["here", "there"],
        "early": ["x"],
    }.items():
        for machine in machines:
            (tmp_path / "clone" / "reports" / study / "machines" / machine).mkdir(parents=True)
    for number, study in enumerate(("twice", "reference")):
        page = tmp_path / "clone" / "reports" / study / "report.html"
        page.write_text(study)
        os.utime(page, (number, number))
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


def helped(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_shows_an_example(capsys, name):
    text = helped(capsys, name)
    assert f"Example:\n  {COMMANDS[name].example}\n" in text and f"usage: samestep {name} " in text


def test_alone_it_shows_every_command_with_an_example(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert text == helped(capsys)
    assert all(
        f"  {name} " in text and f"  {one.example}\n" in text for name, one in COMMANDS.items()
    )
    assert "snakemake --cores 1" in text
    done = python("-m", "samestep")
    assert done.returncode == 0 and "Examples:" in done.stdout


SLOW = ("check", "report", "compare", "validate")
# Its example downloads gigabytes. tests/test_bundle.py packs a small study.
RUN = [name for name in COMMANDS if name != "bundle"]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.all] if n in SLOW else []) for n in RUN]
)
def test_the_example_runs(capsys, clone, monkeypatch, name):
    if name == "check":
        pytest.importorskip("torch")
    for study in ("reference", "repeats/morning/second"):
        shutil.copytree(ROOT / "reports" / study, clone / "reports" / study, dirs_exist_ok=True)
    shutil.rmtree(clone / "reports" / "reference" / "machines" / "here")
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    program, *words = shlex.split(COMMANDS[name].example)
    assert program == "samestep"
    # Noise of two recorded studies may miss what is demanded of intervals, or turn a verdict.
    allowed = (0, 1) if name in ("validate", "compare") else (0,)
    assert main(words) in allowed, capsys.readouterr().err
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["reference"], ["reports/reference/machines/here", "--out", "reports/reference"]),
        (["reports/reference"], ["reports/reference/machines/here", "--out", "reports/reference"]),
        (
            ["reports/twice/machines/here", "reports/twice/machines/there"],
            [
                *(f"reports/twice/machines/{name}" for name in ("here", "there")),
                "--out",
                "reports/twice",
            ],
        ),
        (
            ["twice", "--out", "mine"],
            [*(f"reports/twice/machines/{name}" for name in ("here", "there")), "--out", "mine"],
        ),
        (["elsewhere"], ["elsewhere"]),
    ],
)
def test_a_report_by_name_or_by_folder(clone, monkeypatch, words, given):
    (clone / "elsewhere").mkdir()
    asked = []
    monkeypatch.setattr(analysis.__main__, "main", lambda words: asked.append(words) or 1)
    assert main(["report", *words]) == 2  # what analysis cannot use is the asker's to mend
    assert asked == [given]


def test_studies_are_compared_by_name_or_by_folder(clone, monkeypatch):
    asked = []
    monkeypatch.setattr(analysis.repeats.__main__, "main", lambda words: asked.append(words) or 1)
    there = "reports/twice/machines/there"
    words = ["compare", "reference", there, "--earlier", "early", "--out", "page.md"]
    assert main(words) == 1
    given = ["reports/reference/machines/here", there, "--earlier", "reports/early/machines/x"]
    assert asked == [[*given, "--out", "page.md"]]


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ([], "reports/reference/report.html"),
        (["twice"], "reports/twice/report.html"),
        (["reports/twice"], "reports/twice/report.html"),
        (["reports/twice/report.html"], "reports/twice/report.html"),
    ],
)
def test_a_report_is_opened(capsys, clone, monkeypatch, words, page):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)))
    assert main(["open", *words]) == 0
    assert opened == [(clone / page).as_uri()]
    assert (
        capsys.readouterr().out
        == f"{page}\nNo browser can be opened here: open the page above yourself.\n"
    )


def test_without_a_report_it_says_how_to_get_one(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "snakemake --cores 1 runs a study" in refused(capsys, "open")
    (tmp_path / "report.html").touch()  # which is of nobody's study
    assert "no report 'referense'" in refused(capsys, "open", "referense")


def test_the_method_is_validated_with_the_options_given(monkeypatch):
    asked = []
    monkeypatch.setattr(validate, "validate", lambda options: asked.append(options) or 1)
    assert main(["validate", "--studies", "500", "here"]) == 1
    assert (asked[0].studies, str(asked[0].out)) == (500, "docs/simulation.md")
    assert asked[0].folders == [Path("here")]


@pytest.fixture(params=["folder", "package"])
def begun(request, tmp_path, monkeypatch, capsys):
    """A new adapter of the longest name there may be: its name, files, and description."""
    name = "a" * 20 + "_net"
    if request.param == "folder":
        monkeypatch.setattr(new, "HERE", tmp_path)
        monkeypatch.setattr(frameworks, "__path__", [*frameworks.__path__, str(tmp_path)])
        module, words = f"frameworks.{name}", []
    else:
        monkeypatch.syspath_prepend(str(tmp_path))
        module, words = f"samestep_{name}", ["--package", "--into", str(tmp_path)]
    assert main(["new", name, *words]) == 0
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    said = capsys.readouterr().out
    assert all(str(path) in said for path in files)
    assert f"samestep check {name}" in said
    yield name, files, importlib.import_module(module).FRAMEWORK
    for loaded in [m for m in sys.modules if m.startswith(module)]:
        del sys.modules[loaded]


def test_a_new_adapter_is_well_formed(begun):
    name, files, description = begun
    assert description.name == name and list(description.variants) == ["default"]
    code = [file for file in files if file.suffix == ".py"]
    rules = ["--config", ROOT / "pyproject.toml"]
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, *rules, *code]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_a_new_adapter_says_what_is_still_to_be_written(begun):
    name, _, description = begun
    adapter, workload = (
        open_adapter(description, Conditions()),
        load("mlp", {"features": 4, "hidden": [3]}),
    )
    with pytest.raises(Unavailable, match="the processor only"):
        open_adapter(description, Conditions(device="gpu"))
    with pytest.raises(RuntimeError, match=f"{name}: `restart` is still to be written: copy these"):
        adapter.trainer(workload, initial_weights(workload, 1), "default")
    with pytest.raises(ValueError, match="no variant 'tuned'"):
        adapter.trainer(workload, {}, "tuned")
    with pytest.raises(NotImplementedError, match="no layer of kind 'conv2d'"):
        adapter.trainer(load("mnist-cnn", None), {}, "default")
    kind = type(adapter)
    trainer_class = getattr(sys.modules[kind.__module__], f"{kind.__name__[:-7]}Trainer")
    trainer = object.__new__(trainer_class)
    assert set(METHODS) | {"settings"} == trainer_class.__bases__[0].__abstractmethods__
    for method, arguments in METHODS.items():
        with pytest.raises(RuntimeError, match=f"`{method}` is still to be written: "):
            getattr(trainer, method)(*arguments)


def test_new_overwrites_nothing(tmp_path, capsys):
    words = ["new", "mine", "--package", "--into", str(tmp_path)]
    (tmp_path / "pyproject.toml").write_text("mine")
    assert "pyproject.toml would be overwritten" in refused(capsys, *words)
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]
    assert (tmp_path / "pyproject.toml").read_text() == "mine"
    assert "cannot be written" in refused(
        capsys, *words[:-1], str(tmp_path / "pyproject.toml" / "below")
    )


def test_a_workload_of_the_catalogue(capsys):
    assert main(["workload", "mlp"]) == 0
    text = capsys.readouterr().out
    for words in ("normal, 10,000 samples of 10000", "32, 312 an epoch", "11,003,001 in 6 tensors",
                  "1.47 GFLOP", "400.1 MB", "adam (learning_rate 0.001",
                  "kernel 10000 x 1000 in ±0.01"):  # fmt: skip
        assert words in text, text


def test_a_workload_as_json_is_one_again(capsys):
    assert main(["workload", "mnist-cnn", "--json"]) == 0
    found, workload = json.loads(capsys.readouterr().out), load("mnist-cnn", None)
    assert from_dict({key: found[key] for key in to_dict(workload)}) == workload
    assert found["flops_per_step"] == workload.flops_per_step
    assert [stage["output_shape"] for stage in found["stages"]][-1] == [10]
    for name, weight in initial_weights(workload, 1).items():
        tensor = found["tensors"][name]
        assert tuple(tensor["shape"]) == weight.shape
        assert 0.5 * tensor["drawn_within"] < abs(weight).max() <= tensor["drawn_within"]


def test_a_workload_of_a_file_with_nothing_else_in_it(tmp_path, capsys):
    file = tmp_path / "mine.yaml"
    entry = {"from": "mlp", "features": 7, "hidden": [5], "batch": 8}
    file.write_text(yaml.safe_dump({"workloads": {"small": entry}}))
    assert main(["workload", "small", "--json", "--configfile", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"] == 7 * 5 + 5 + 5 + 1
    assert "did you mean 'small'? (there are: mlp, mnist-cnn, small)" in refused(
        capsys, "workload", "smal", "--configfile", str(file)
    )
    file.write_text(yaml.safe_dump({"workloads": {"small": {**entry, "hiden": [3]}}}))
    assert "small: unknown parameter 'hiden', did you mean 'hidden'" in refused(
        capsys, "workload", "small", "--configfile", str(file)
    )


def plan_of(folder, small, **changes):
    values = {**small, "workloads": {**small["workloads"], "mnist-cnn": False}, **changes}
    (folder / "mine.yaml").write_text(yaml.safe_dump(values))
    return ["plan", "--configfile", str(folder / "mine.yaml")]


def test_a_plan_says_what_a_study_would_do(tmp_path, monkeypatch, capsys, abacus, small):
    monkeypatch.chdir(tmp_path)
    assert main(plan_of(tmp_path, small, replicates=3, minutes=None)) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("Study small: Abacus on MLP", "contenders Abacus (default)", "for 3 replicates",
                  "of memory, of", "of disk, of", "contests of MLP: 1 contender, 18 mini-batches",
                  "report reports/small/report.html"):  # fmt: skip
        assert words in said, said
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


def test_a_plan_that_does_not_fit_is_refused(tmp_path, monkeypatch, capsys, abacus, small):
    monkeypatch.chdir(tmp_path)
    wide = {"mlp": {"features": 10**5, "hidden": [10**6], "batch": 4, "samples": 400}}
    wide["mnist-cnn"] = False
    assert "mine.yaml: workloads.mlp: a process that trains mlp holds" in refused(
        capsys, *plan_of(tmp_path, small, workloads=wide)
    )
    many = {"replicates": 1000, "minutes": None, "contest": {"rounds": 600}}
    assert "mine.yaml: replicates: about " in refused(capsys, *plan_of(tmp_path, small, **many))
    assert "contest.rounds" in refused(capsys, *plan_of(tmp_path, small, contest={"rounds": 0}))
    assert "no.yaml: No such file" in refused(capsys, "plan", "--configfile", "no.yaml")
