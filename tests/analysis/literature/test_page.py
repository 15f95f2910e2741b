"""The committed verdicts follow from the committed tables, and docs/literature.md says them."""

import re
from pathlib import Path

import pytest

from analysis.literature.__main__ import main
from analysis.literature.judging.arithmetic import CALCULATIONS
from analysis.literature.judging.claims import claims
from analysis.literature.published.peaks import definitions, networks
from analysis.literature.published.table7 import cells
from tests.conftest import ROOT

STUDIES = ("reference", "networks", "networks-tuned", "definitions", "stored-statistics",
           "threads", "oversubscribed", "sweep", "fence", "parts", "parallel", "operations",
           "transfer", "traps", "gpu")  # fmt: skip


@pytest.mark.all
def test_the_committed_verdicts_follow_from_the_committed_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    studies = [f"reports/{name}" for name in STUDIES]
    assert main([*studies, "--out", str(tmp_path)]) == 0
    for name in ("claims.md", *(one.name for one in tmp_path.glob("*.csv"))):
        assert (tmp_path / name).read_bytes() == (ROOT / "reports/literature" / name).read_bytes()
    drawing = (tmp_path / "impossible.svg").read_text()
    assert ">ResNet-56</text>" in drawing.replace("\n", "")
    assert {one.name for one in tmp_path.iterdir()} == {
        one.name for one in (ROOT / "reports/literature").iterdir()
    }


def committed() -> dict[str, str]:
    """The verdict of each claim in the committed list, which follows from the committed tables."""
    found, verdict = {}, ""
    for line in (ROOT / "reports/literature/claims.md").read_text().splitlines():
        if line.startswith("## "):
            verdict = line.removeprefix("## ").lower()
        elif row := re.match(r"\| (C\d\d) \|", line):
            found[row[1]] = verdict
    return found


def test_the_page_says_what_was_judged() -> None:
    page = " ".join((ROOT / "docs/literature.md").read_text().split())
    verdicts = committed()
    assert sorted(verdicts) == [one.id for one in claims()]
    lacking = {name for name, said in verdicts.items() if said.startswith("needs")}
    assert {verdicts[name] for name in lacking} == {"needs hardware that is not here"}
    calculated = {one.id for one in claims() if one.calculation in CALCULATIONS}
    assert {verdicts[name] for name in calculated} == {"does not hold here"}
    assert len(calculated) == 5
    measured = {name: said for name, said in verdicts.items() if name not in lacking | calculated}
    assert measured == {
        **dict.fromkeys(
            ["C27", "C29", "C38", "C39", "C40", "C42", "C46", "C48", "C54", "C55", "C59"],
            "does not hold here",
        ),
        **dict.fromkeys(
            ["C03", "C04", "C23", "C24", "C25", "C37", "C53", "C56", "C58", "C64"], "holds here"
        ),
        **dict.fromkeys(
            ["C12", "C30", "C31", "C32", "C33", "C35", "C36", "C43", "C52", "C63"], "cannot tell"
        ),
    }
    for words in (
        "They make 65 claims",
        "Of its 455 cells, 376 can be used",
        "Six times need more",
        "needs 7.8 times the peak",
        "decide five claims, and none holds",
        "decide 21 more",
        f"{len(lacking)} claims need hardware",
        "Cannot tell**: six claims about threads, one that",
    ):
        assert words in page
    for (network, tool), own in definitions().items():
        work = networks()[own["layers"]].flops(int(own["samples"]))
        batch = next(c.batch for c in cells() if c.network == network)
        share = work / networks()[network].flops(batch)
        shown = f"{share:.2f}" if share > 0.1 else f"{share:.2g}"
        assert re.search(rf"\| {network}, {tool} \|[^|]*\|[^|]*\| {shown} \|", page)


def test_the_page_is_short_and_near_the_front_door() -> None:
    page = (ROOT / "docs/literature.md").read_text()
    assert page.count("<picture>") == 3
    seen = re.sub(r"<picture>.*?</picture>|\]\([^)]*\)", "", page, flags=re.S)
    assert sum(bool(re.search(r"\w", word)) for word in seen.split()) <= 1200
    screen = (ROOT / "README.md").read_text().splitlines()[:40]
    assert any("docs/literature.md" in line for line in screen)
