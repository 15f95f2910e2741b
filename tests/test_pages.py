"""The pages written by hand are true: links, names, commands and numbers."""

import csv
import re
import subprocess
import tomllib
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.data.reading import load as load_machines
from analysis.format import alike, title
from frameworks.memory import FREED_KEPT
from frameworks.workloads import TITLES, load
from frameworks.workloads.layers import VOCABULARY
from frameworks.workloads.optimisers import OPTIMISERS
from frameworks.workloads.workload import LOSSES
from samestep.__main__ import COMMANDS
from tests.conftest import ROOT, python
from workflows.planning.configfiles import merge, parse

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "reports/README.md")),
    *(ROOT / name for name in ("tests/README.md", "benchmarks/noise/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
SHORT = [page.relative_to(ROOT).as_posix() for page in PAGES]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()
COMMITTED = ("reference", "traps", "aa", "ablation", "networks", "networks-tuned", "definitions",
             "stored-statistics", "threads", "sweep", "fence", "parts", "versions", "loops",
             "reduced-precision", "parallel", "operations", "loading")  # fmt: skip


@cache
def text(short: str) -> str:
    return (ROOT / short).read_text()


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.S)


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as code hosts name them."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
    headings = re.findall(r"^#+ (.*)", prose, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: str) -> list[str]:
    prose = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
    found = re.findall(r"\]\(([^)]+)\)", prose) + re.findall(r'(?:src|srcset)="([^"]+)"', prose)
    return [link for link in found if "://" not in link]


@pytest.mark.parametrize("short", SHORT)
def test_links_lead_somewhere(short: str) -> None:
    page, lost = ROOT / short, []
    for link in links(text(short)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            lost.append(link)
    assert lost == []


def test_every_page_is_reached_from_the_readme() -> None:
    targets = {(ROOT / link.partition("#")[0]).resolve() for link in links(README)}
    assert set((ROOT / "docs").glob("*.md")) <= targets
    for name in ("LICENSE", "CITATION.cff", "CONTRIBUTING.md", "reports/README.md"):
        assert ROOT / name in targets


def test_reports_link_to_headings_that_are_there() -> None:
    there = anchors(text("docs/method.md"))
    code = "".join(file.read_text() for file in (ROOT / "analysis").rglob("*.py"))
    asked = set(re.findall(r"""more\(["']([a-z-]+)["']\)""", code))
    for study in (*COMMITTED, "machines"):
        for page in (ROOT / "reports" / study).glob("report.*"):
            asked |= set(re.findall(r"docs/method\.md#([\w-]+)", page.read_text()))
    assert asked and asked <= there


def test_what_a_determined_cheat_could_do_is_five_lines() -> None:
    there = text("docs/method.md").partition("**What a determined cheat could still do.**")[2]
    bullets = re.findall("^- ", there.partition("\nReading the adapter")[0], re.M)
    assert len(bullets) == 5 and "five\nlines](method.md" in text("docs/attacks.md")


@pytest.mark.parametrize("short", SHORT)
def test_make_targets_are_there(short: str) -> None:
    rules = text("Makefile")
    for target in re.findall(r"(?:^|`)make ([a-z][\w-]+)", text(short), re.M):
        assert f"\n{target}:" in rules, target


def test_the_readme_has_the_commands_of_a_newcomer() -> None:
    targets = re.findall(r"(?:^|`)make ([\w-]+)", README, re.M)
    assert {"study", "smoke", "test", "test-all"} <= set(targets)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("short", SHORT)
def test_commands_exist(short: str) -> None:
    scripts = "\n".join(blocks("sh", text(short)))
    shown = re.findall(r"^samestep (\w+)", scripts, re.M)
    assert set(shown + re.findall(r"`samestep (\w+)", text(short))) <= set(COMMANDS)


def modules() -> list[Any]:
    """Those of a study, and for `make test-all` those behind the pages on the method."""
    found = {name for short in SHORT for name in re.findall(r"python -m ([a-z_.]+)", text(short))}
    found = {name for name in found if name.split(".")[0] not in ("pytest", "pip", "snakemake")}
    slow = pytest.mark.all
    return [
        pytest.param(name, marks=[slow] if name.startswith("benchmarks") else [])
        for name in sorted(found)
    ]


@pytest.mark.parametrize("module", modules())
def test_modules_that_are_run_can_be_run(module: str) -> None:
    if module.startswith("tests."):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists()
        return
    done = python("-m", module, "--help")
    assert done.returncode == 0 and "usage" in done.stdout, (module, done.stderr)


def test_environment_variables_are_read_by_the_code() -> None:
    files = [file for name in ("frameworks", "workflows") for file in (ROOT / name).rglob("*.py")]
    code = "".join(file.read_text() for file in files)
    named = {name for short in SHORT for name in re.findall(r"SAMESTEP_\w+", text(short))}
    assert named and all(f'"{name}"' in code for name in named)


# The README's own claims.


def test_the_findings_are_those_of_the_reference_study() -> None:
    """Word for word. If a new reference study says otherwise, so must the README."""
    opening, _, _ = text("reports/reference/report.md").partition("Milliseconds per mini-batch")
    said = {" ".join(line.split()) for line in re.findall(r"^(?:\*\*|- ).*$", opening, re.M)}
    (shown,) = re.findall(r"^## What it found\n(.*?)^\*\*CPU only", README, re.S | re.M)
    found = re.findall(r"^(?:\*\*.*?\*\*$|- .*?(?=^- |^$|\Z))", shown, re.S | re.M)
    assert len(found) >= 4 and {" ".join(one.split()) for one in found} <= said


def measured(study: str) -> tuple[str, str]:
    """Processor and day, from the records: `intel xeon`, `23 november 2026`."""
    (machine,) = load_machines(sorted((ROOT / "reports" / study / "machines").iterdir()))
    begun = datetime.fromisoformat(min(each.started for each in machine.records.contests))
    return " ".join(machine.name.split("-")[:2]), f"{begun.day} {begun:%B %Y}".lower()


@pytest.mark.parametrize("study", COMMITTED)
def test_machine_and_day_stand_beside_a_reports_link(study: str) -> None:
    (line,) = re.findall(rf"^- \[{study}\].*?(?=^- |^$)", text("reports/README.md"), re.S | re.M)
    assert all(fact in " ".join(line.lower().split()) for fact in measured(study))


def test_machine_and_day_stand_beside_the_readmes_link() -> None:
    (place,) = re.findall(r"^\*\*CPU only.*?(?=\n\n)", README, re.S | re.M)
    assert all(fact in " ".join(place.lower().split()) for fact in measured("reference"))


# docs/why.md


def test_the_steps_are_those_of_the_ablation_study() -> None:
    said = set(text("reports/ablation/report.md").splitlines())
    (shown,) = re.findall(
        r"^## What tuning is made of\n(.*?)^## ", text("docs/why.md"), re.S | re.M
    )
    found = [" ".join(one.split()) for one in re.findall(r"^- .*?(?=^- |\n\n)", shown, re.S | re.M)]
    assert len(found) == 6 and set(found) <= said


def test_times_faults_and_shares_are_those_of_the_reference_study() -> None:
    with (ROOT / "reports/reference/tables/use.csv").open() as file:
        found = {
            (row["workload"], row["framework"], row["variant"]): row
            for row in csv.DictReader(file)
            if row["threads"] == "1"
        }
    rows = []
    for workload in ("mlp", "mnist-cnn"):
        for framework in ("pytorch", "tensorflow", "jax"):
            both = [found[workload, framework, variant] for variant in ("default", "tuned")]
            rows.append([
                TITLES[workload],
                title(framework),
                *(alike(float(row["median_ms"]))[0] for row in both),
                *(f"{float(row['faults']):,.0f}" for row in both),
                *(f"{100 * float(row['share']):.0f} %" for row in both),
            ])  # fmt: skip
    (table,) = re.findall(
        r"^\| on \| framework .*?\n.*?\n(.*?)\n\n", text("docs/why.md"), re.S | re.M
    )
    assert [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()] == rows


def test_the_variable_shown_is_that_of_the_variant() -> None:
    (shown,) = re.findall(r"^GLIBC_TUNABLES=(\S+)", text("docs/why.md"), re.M)
    assert {"GLIBC_TUNABLES": shown} == FREED_KEPT


def test_the_configuration_shown_is_one() -> None:
    (shown,) = [block for block in blocks("yaml") if "minutes" in block]
    values = yaml.safe_load(text("config/study.yaml"))
    merge(values, yaml.safe_load(shown))
    assert list(parse(values).workloads) == ["mnist-cnn"]


def test_keys_explained_are_keys() -> None:
    (table,) = re.findall(r"^\| key \| meaning \|\n(.*?)\n\n", README, re.S | re.M)
    keys = [
        key for row in table.splitlines()[1:] for key in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert len(keys) == 9
    assert set(keys) <= set(yaml.safe_load(text("config/study.yaml")))


@pytest.mark.parametrize("page", ["README.md", "docs/configuration.md"])
def test_the_workloads_shown_can_be_built(page: str) -> None:
    shown = [block for block in blocks("yaml", text(page)) if block.startswith("workloads")]
    assert shown
    for name, entry in (
        own for block in shown for own in yaml.safe_load(block)["workloads"].items()
    ):
        assert entry is False or load(name, entry).flops_per_step > 0


def test_the_vocabulary_is_complete() -> None:
    (paragraph,) = re.findall(r"^Layers: .*?\n\n", CONFIGURATION, re.S | re.M)
    for name in [*VOCABULARY, *LOSSES, *OPTIMISERS]:
        assert f"`{name}`" in paragraph, name


def test_numbers_from_other_pages_are_theirs() -> None:
    (defects,) = re.findall(r"\[(\d+) planted mistakes\]", README)
    assert f"all {defects} defects" in text("docs/defects.md")
    (machine,) = re.findall(r"\*\*Your machine\.\*\*.*?(?=^- )", README, re.S | re.M)
    numbers = re.findall(r"\d+ %", machine)
    assert numbers and all(number in text("docs/repeatability.md") for number in numbers)


def test_the_page_on_noise_quotes_its_notebook() -> None:
    numbers = re.compile(r"\d+\.\d+")
    known = {"0.01", "0.02", "6.7"}  # the aim, and a version of Linux
    source = text("benchmarks/noise/README.md") + text("docs/repeatability.md")
    quoted = set(numbers.findall(text("docs/noise.md"))) - known
    assert len(quoted) > 20 and quoted <= set(numbers.findall(source))


def test_licence_and_citation_say_what_the_package_says() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0" and citation["authors"]
    assert str(citation["version"]) == project["version"]
    assert citation["license"] == project["license"] == "BSD-3-Clause"
    assert "BSD 3-Clause" in text("LICENSE") and "the samestep authors" in text("LICENSE")


# The page on the architecture.


def rooms() -> list[Path]:
    """The paths in the drawing of the architecture."""
    (drawing,) = re.findall(r"```\n(Snakefile.*?)```", ARCHITECTURE, re.S)
    found, above = [], {0: ROOT}  # by indentation: the folder that paths start in
    for indent, names in re.findall(r"^(| {2}| {4})(\S.*?)(?: {2,}.*)?$", drawing, re.M):
        top = above[len(indent)]
        paths = [path for name in names.split() for path in matching(top, name)]
        found += paths
        above[len(indent) + 2] = paths[0]
    return found


def matching(folder: Path, name: str) -> list[Path]:
    """The path, or all that a name with `*` means."""
    return sorted(folder.glob(name.rstrip("/"))) if "*" in name else [folder / name]


def test_the_drawing_shows_what_is_there() -> None:
    assert len(rooms()) > 30
    assert [path for path in rooms() if not path.exists()] == []


@pytest.mark.parametrize("package", ["frameworks", "workflows", "analysis"])
def test_the_drawing_leaves_no_room_out(package: str) -> None:
    there = {path.parent for path in (ROOT / package).glob("*/**/__init__.py")}
    assert there and there - set(rooms()) == set()


def test_the_glossary_is_short() -> None:
    _, _, *rows = re.findall(r"^\|.*", ARCHITECTURE.partition("## Glossary")[2], re.M)
    assert 10 < len(rows) <= 15


def test_committed_reports_take_twelve_megabytes_at_most() -> None:
    done = subprocess.run(
        ["git", "ls-files", "-z", "reports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("only a clone knows which files are committed")
    files = [ROOT / name for name in done.stdout.split("\0") if name]
    assert len(files) > 300 and sum(file.lstat().st_size for file in files) < 12e6


def test_records_of_a_default_study_take_six_hundred_kilobytes_at_most() -> None:
    folders = [*(ROOT / "reports" / "reference" / "machines").iterdir()]
    folders += (ROOT / "reports" / "repeats").glob("*/*/machines/*")
    sizes = {folder: sum(file.stat().st_size for file in folder.iterdir()) for folder in folders}
    assert len(sizes) > 10 and max(sizes.values()) < 6e5, sizes
