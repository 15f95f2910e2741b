"""A study for a machine without internet: packed here, run there, and its records read here."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import distribution

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.kills.study import copy_code
from samestep.bundles import Bundle, Target, require_kind, spelled_out
from samestep.terminal import Problem
from tests.conftest import PACKAGES, ROOT, SMALL, built_once, python
from tests.workflows.environments.wheels import abacus_as, as_installed, needed, packed, write_wheel
from workflows.planning.configfiles import parse

HERE = f"3.{sys.version_info.minor}"
OWN = [
    line
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    if not line.startswith("snakemake")
]
WITHOUT_NETWORK = ["unshare", "--map-root-user", "--net"]
SMALL_YAML = yaml.safe_dump(
    {**SMALL, "minutes": None, "workloads": {**SMALL["workloads"], "mnist-cnn": False}}
)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A git clone with one commit, and the abacus as if pip had installed it."""
    folder = tmp_path / "clone"
    folder.mkdir()
    copy_code(folder)
    shutil.copy(ROOT / "constraints.txt", folder)
    (folder / ".gitignore").write_text("__pycache__/\n")
    (folder / "reports").mkdir()
    (folder / "reports" / "README.md").write_text("committed reports")
    for name in [name for name in os.environ if name.startswith(("GIT_", "PIP_"))]:
        monkeypatch.delenv(name)
    who = ["-c", "user.name=a", "-c", "user.email=b"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "small.yaml").write_text(SMALL_YAML)
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(abacus_as(tmp_path / "abacus", "abacus")))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return folder


def samestep(clone, *words, fails=False):
    """Run the command, and return what it prints, or its error if it `fails`."""
    done = python("-m", "samestep", *words, cwd=clone)
    assert done.returncode == (2 if fails else 0), done.stderr
    return done.stderr if fails else done.stdout


BUNDLE = ("bundle", "--configfile", "small.yaml")


def by_name(folder):
    """Wheels that are only names, for archives that nobody runs."""
    for line in OWN:
        name = canonicalize_name(Requirement(line).name)
        write_wheel(folder, name.replace("-", "_"), distribution(name).version, {})
    packed(folder, PACKAGES / "abacus", "abacus")


def test_an_archive_has_the_commit_and_a_list_of_wheels_for_each_environment(clone, tmp_path):
    by_name(tmp_path / "wheels")
    said = samestep(clone, *BUNDLE)
    assert "abacus: 2 wheels" in said and "samestep report small.zip" in said
    with tarfile.open(clone / "small-bundle.tar") as tar:
        names = {name.removeprefix("small-bundle/") for name in tar.getnames()}
        texts = {name: tar.extractfile(f"small-bundle/{name}").read().decode() for name in
                 ("run.sh", "environments/samestep.txt", "environments/abacus.txt",
                  "configuration/01-small.yaml", "samestep/COMMIT")}  # fmt: skip
    assert {"samestep/workflows/stages/run.py", "samestep/Snakefile"} <= names
    assert not any(name.startswith("samestep/reports/") or "snakemake-" in name for name in names)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True)
    assert texts["samestep/COMMIT"] == head.stdout
    assert texts["configuration/01-small.yaml"] == SMALL_YAML
    listed = {
        name: re.findall(r"^\./(\S+) --hash=sha256:[0-9a-f]{64}$", text, re.M)
        for name, text in texts.items()
        if name.startswith("environments/")
    }
    assert {path for paths in listed.values() for path in paths} <= names
    assert [path.split("-")[0] for path in listed["environments/abacus.txt"]] == [
        "wheels/abacus",
        "wheels/numpy",
    ]
    assert len(listed["environments/samestep.txt"]) == len(OWN) + 1  # and the abacus
    assert [path.name for path in clone.glob(".bundle-*")] == []
    assert "is there already" in samestep(clone, *BUNDLE, fails=True)


@pytest.mark.all
def test_what_cannot_be_packed_is_said_and_leaves_nothing(clone, tmp_path):
    before = {path.name for path in clone.iterdir()}
    assert "the wheels cannot be had: ERROR" in samestep(clone, *BUNDLE, fails=True)
    (clone / "there.yaml").write_text("interpreters: {abacus: /my/python}")
    assert "interpreters: they are of this place" in samestep(
        clone, *BUNDLE, "there.yaml", fails=True
    )
    assert "the name ends with .tar" in samestep(clone, *BUNDLE, "--out", "x.zip", fails=True)
    (clone / "Snakefile").write_text("changed")
    assert "commit or undo\nM Snakefile" in samestep(clone, *BUNDLE, fails=True)
    assert {path.name for path in clone.iterdir()} - before == {"there.yaml"}


@pytest.mark.all
def test_an_archive_that_does_not_fit_is_refused_before_anything_is_fetched(clone, disk):
    said = samestep(clone, *BUNDLE, "--out", str(disk / "x.tar"), fails=True)
    assert f"{disk}: the archive and what it is made from need about 2.0 GB" in said
    assert not list(disk.iterdir())


def test_the_build_for_other_devices_is_refused():
    with pytest.raises(Problem, match="PIP_EXTRA_INDEX_URL=https"):
        require_kind("nvidia_cublas-13.1-py3-none-any.whl", "pytorch", "none")
    with pytest.raises(Problem, match="brings a CPU build"):
        require_kind("torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl", "pytorch", "cuda")
    require_kind("nvidia_ml_py-13.580-py3-none-any.whl", "samestep", "none")
    require_kind("nvidia_cublas-13.1-py3-none-any.whl", "pytorch", "cuda")


def test_requirements_of_requirements_are_spelled_out():
    folder = ROOT / "frameworks" / "keras"
    found = list(spelled_out(("-r", str(folder / "requirements.txt"), "numpy==1"), folder))
    assert found[-1] == "numpy==1" and not any(word.startswith("-") for word in found)
    assert {"torch", "jax", "keras", "tensorflow-cpu"} <= {Requirement(one).name for one in found}


@pytest.mark.all
def test_a_study_runs_without_a_network_and_its_records_are_read_elsewhere(
    clone, tmp_path, tmp_path_factory, monkeypatch
):
    def build(folder):
        folder.mkdir()
        for name in needed(OWN):
            as_installed(folder, name)
        packed(folder, PACKAGES / "abacus", "abacus")

    wheels = built_once(tmp_path_factory, "wheels-as-installed", build)
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    samestep(clone, *BUNDLE, "--python", HERE, "--platform", "linux", "--gpu", "none")

    there = tmp_path / "another machine"
    there.mkdir()
    subprocess.run(["tar", "xf", clone / "small-bundle.tar"], cwd=there, check=True)
    # Where that is not permitted, a proxy that does not answer must do.
    refused = subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True).returncode == 0
    done = subprocess.run(
        [*(WITHOUT_NETWORK if refused else []), "sh", "small-bundle/run.sh"],
        cwd=there, capture_output=True, text=True, timeout=900,
        env={
            "PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "HOME": str(there),
            "SAMESTEP_LOCK": os.environ["SAMESTEP_LOCK"], "SAMESTEP_MACHINE": "there",
            "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    interpreter = there / "small-bundle" / "environments" / "samestep" / "bin" / "python"
    absent = subprocess.run([interpreter, "-c", "import snakemake"], capture_output=True, text=True)
    assert "No module named 'snakemake'" in absent.stderr

    shutil.move(there / "small-bundle" / "small.zip", clone)
    samestep(clone, "report", "small.zip")
    page = (clone / "reports" / "small" / "report.html").read_text()
    assert "sh run.sh" in page and "Abacus" in page
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True)
    (contest,) = there.glob("small-bundle/samestep/results/there/small/contests/mlp/1.json")
    assert json.loads(contest.read_text())["contests"][0]["code"]["commit"] == head.stdout.strip()


def test_a_configuration_of_any_name_is_one_word_of_the_script(
    tmp_path, abacus, small, monkeypatch
):
    odd = tmp_path / "it's $(odd) `x`.yaml"
    odd.write_text("{}")
    for name, value in {"code": "c", "mnist": False, "installer": []}.items():
        monkeypatch.setattr(Bundle, name, lambda self, value=value: value)
    bundle = Bundle(parse(small), Target("3.11", "linux", "none"), tmp_path / "s", "b", print)
    bundle.fill([], [odd])
    script = (bundle.top / "run.sh").read_text()
    (line,) = [line for line in script.splitlines() if "--configfile" in line]
    words = shlex.split(line.partition("||")[0])
    assert words[3:] == ["--configfile", f"../configuration/01-{odd.name}", "../here.yaml"]
    assert subprocess.run(["sh", "-n", bundle.top / "run.sh"]).returncode == 0
