"""The README is true: its links, names and commands, and one script from beginning to end."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from frameworks.workloads import load
from frameworks.workloads.layers import VOCABULARY
from frameworks.workloads.optimisers import OPTIMISERS
from frameworks.workloads.workload import LOSSES
from tests.conftest import ROOT
from workflows.planning.code import ROOT as CODE

README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_make_targets_are_there():
    rules = (ROOT / "Makefile").read_text()
    targets = re.findall(r"(?:^|`)make ([\w-]+)", README, re.M)
    assert {"study", "smoke", "test", "test-all"} <= set(targets)
    for target in targets:
        assert f"\n{target}:" in rules, target


def rooms() -> list[Path]:
    """The paths in the drawing of the architecture."""
    (drawing,) = re.findall(r"```\n(Snakefile.*?)```", ARCHITECTURE, re.S)
    found, top = [], ROOT
    for indent, names in re.findall(r"^(| {2})(\S.*?)(?: {2,}.*)?$", drawing, re.M):
        paths = [(top if indent else ROOT) / name for name in names.split()]
        found += paths
        top = top if indent else paths[0]
    return found


def test_the_drawing_of_the_architecture_shows_what_is_there():
    assert len(rooms()) > 30
    assert [path for path in rooms() if not path.exists()] == []


@pytest.mark.parametrize("package", ["frameworks", "workflows", "analysis"])
def test_the_drawing_of_the_architecture_leaves_no_room_out(package):
    there = {path.parent for path in (ROOT / package).glob("*/__init__.py")}
    assert there and there <= set(rooms())


def test_links_of_the_architecture_lead_somewhere():
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", ARCHITECTURE) if ":" not in link]
    assert links and [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_modules_that_are_run_can_be_run():
    for module in set(re.findall(r"python -m ([a-z_.]+)", README)):
        done = subprocess.run(
            [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0 and "usage" in done.stdout, (module, done.stderr)


def test_environment_variables_are_read_by_the_code():
    files = [file for name in ("frameworks", "workflows") for file in (CODE / name).rglob("*.py")]
    code = "".join(file.read_text() for file in files)
    named = set(re.findall(r"SAMESTEP_\w+", README))
    assert named and all(f'"{name}"' in code for name in named)


def test_the_vocabulary_is_complete():
    (paragraph,) = re.findall(r"Layers: .*?\n\n", README + "\n", re.S) or [README]
    for name in [*VOCABULARY, *LOSSES, *OPTIMISERS]:
        assert f"`{name}`" in paragraph, name


def test_the_workloads_shown_can_be_built():
    (shown,) = blocks("yaml")
    for name, entry in yaml.safe_load(shown)["workloads"].items():
        assert load(name, entry).parameters > 0


def test_the_default_study_is_as_described():
    study = yaml.safe_load((ROOT / "config" / "study.yaml").read_text())
    (script,) = [block for block in blocks("sh") if "workflows.measure.contest" in block]
    assert f"for workload in {' '.join(study['workloads'])}; do" in script
    assert f"--group {'+'.join(study['workloads'])} " in script
    frameworks = [entry["framework"] for entry in study["contenders"]]
    assert f"for framework in {' '.join(frameworks)}; do" in script


@pytest.mark.skipif(sys.platform == "win32", reason="the script is for a Unix shell")
def test_without_snakemake_it_works_too(tmp_path, abacus, small):
    """The README's script, word for word but for a smaller study."""
    (script,) = [block for block in blocks("sh") if "workflows.measure.contest" in block]
    small = {**small, "study": "default", "minutes": 0.01, "replicates": 2}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small))
    for pattern, smaller in [
        (r"config/study\.yaml", "small.yaml"),
        (r"for workload in .*;", "for workload in mlp;"),
        (r"--group \S+", "--group mlp"),
        (r"for framework in .*;", "for framework in abacus;"),
    ]:
        script, count = re.subn(pattern, smaller, script)
        assert count == (2 if "group" in pattern else 1), pattern
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{abacus}",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    contests = tmp_path.glob("results/*/default/contests/mlp/*.json")
    assert sorted(path.stem for path in contests) == ["1", "2"]
    report = (tmp_path / "reports" / "default" / "report.md").read_text()
    assert "python -m workflows.stages.detect --configfile small.yaml" in report
    assert "As many replicates as fit in 0.01 minutes (at least 2, at most 2)" in done.stderr
    assert "2 replicates, which take about 1 minute rather than 0.01 minutes" in done.stderr
