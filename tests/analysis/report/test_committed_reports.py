"""The committed reports follow from the committed records, byte for byte."""

import re
from pathlib import Path

import pytest

from analysis.__main__ import main as analyse
from tests.conftest import ROOT
from workflows.planning.configfiles import parse, read
from workflows.records.machine_folder import read_machine

pytestmark = pytest.mark.all


BRIEF = ("traps", "aa", "ablation", "networks", "networks-tuned", "definitions",
         "stored-statistics", "threads", "oversubscribed", "sweep", "fence", "parts", "versions",
         "loops", "reduced-precision", "parallel", "operations", "transfer", "loading", "gpu",
         "machines")  # fmt: skip


@pytest.mark.parametrize("name", ["reference", *BRIEF])
def test_a_committed_report_is_rebuilt_from_its_records(name: str, tmp_path: Path) -> None:
    committed = ROOT / "reports" / name
    folders = sorted((committed / "machines").iterdir())
    others: list[object] = []
    if name == "reference":  # its report says how far ratios moved in all studies of its machine
        same = f"*/*/machines/{folders[0].name}"
        others = ["--earlier", *sorted((ROOT / "reports" / "repeats").glob(same))]
    brief = ["--brief"] * (name in BRIEF)
    words = map(str, [*folders, *others, "--out", tmp_path])
    assert analyse([*words, *brief]) == 0
    rebuilt = files(tmp_path)
    assert rebuilt.keys() == files(committed).keys()
    for file, content in files(committed).items():
        assert rebuilt[file] == content, f"{name}/{file} is not what its records say"


# The configuration files of each committed report, laid over the default study in this order.
CONFIGURATIONS = {
    "reference": ["reference.yaml"],
    "traps": ["traps.yaml", "mnist-test.yaml"],
    "aa": ["aa.yaml", "mnist-test.yaml"],
    "ablation": ["ablation.yaml", "mnist-test.yaml"],
    "networks": ["networks.yaml"],
    "networks-tuned": ["networks.yaml", "networks-tuned.yaml"],
    "definitions": ["definitions.yaml"],
    "stored-statistics": ["stored-statistics.yaml"],
    "threads": ["threads.yaml"],
    "oversubscribed": ["threads.yaml", "oversubscribed.yaml"],
    "sweep": ["sweep.yaml"],
    "fence": ["fence.yaml", "mnist-test.yaml"],
    "parts": ["parts.yaml"],
    "versions": ["versions.yaml", "mnist-test.yaml"],
    "reduced-precision": ["reduced-precision.yaml"],
    "parallel": ["parallel.yaml"],
    "operations": ["operations.yaml"],
    "transfer": ["transfer.yaml"],
    "loading": ["loading.yaml"],
    "gpu": ["mnist-test.yaml", "gpu.yaml"],
}


@pytest.mark.parametrize("name", [*CONFIGURATIONS])
def test_a_committed_report_follows_from_its_committed_configuration(name: str) -> None:
    files = [ROOT / "config" / file for file in ("study.yaml", *CONFIGURATIONS[name])]
    study = read(files)
    asked = study.model_dump(mode="json")
    for folder in (ROOT / "reports" / name / "machines").iterdir():
        records, _ = read_machine(folder)
        measured = parse(records.study.configuration).model_dump(mode="json")
        # A title may be reworded; no result depends on it.
        assert {**measured, "title": ""} == {**asked, "title": ""}, folder
        assert {contest.group for contest in records.contests} == {*study.groups}
        # They may lie in another folder where it was measured.
        words = records.study.command.partition("--configfile ")[2].split()
        assert [Path(word).name for word in words][: len(files) - 1] == CONFIGURATIONS[name]


def files(report: Path) -> dict[str, str]:
    """The pages without their drawings, all tables, and the names of the figures. The last digit
    of a coordinate may depend on the processor, so the drawings' bytes are left out."""
    found = {path.relative_to(report).as_posix(): "" for path in report.glob("figures/*")}
    for path in [*report.glob("report.*"), *report.glob("tables/*.csv")]:
        text = re.sub(r"<svg.*?</svg>", "", path.read_text(), flags=re.DOTALL)
        found[path.relative_to(report).as_posix()] = text
    return found
