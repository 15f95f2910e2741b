"""Pages about several studies show other people's names and settings as text."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.format import CUT
from analysis.repeats.__main__ import main
from tests.analysis.repeats.test_repeats import reconfigured
from workflows.records.machine_records import MachineRecords

Make = Callable[..., Path]
ATTACK = (
    "<img src=x onerror=alert(1)> [x](javascript:alert(2)) https://evil.example "
    "[y](../../docs/y.md) **loud**"
)
REASON = f"{ATTACK} failed"


def hostile(records: MachineRecords) -> None:
    records.study.titles = {"tensorflow": f"TF {ATTACK}", "pytorch": "PyTorch"}
    for contest in records.contests:
        contest.system_info[f"key {ATTACK}"] = ATTACK
        for contender in contest.contenders:
            if contender.framework == "tensorflow":
                contender.settings |= {"blas": ATTACK, f"odd {ATTACK}": ATTACK}


@pytest.mark.parametrize("number", [2, 3])
def test_nothing_of_theirs_is_a_tag_or_a_link(study: Make, tmp_path: Path, number: int) -> None:
    lost = {("mnist-cnn", n, "tensorflow/default/cpu/1"): REASON for n in range(1, 8)}
    folders = [reconfigured(study(1), hostile), study(2, absent=lost), study(3)][:number]
    reconfigured(folders[-1], hostile)
    out = tmp_path / "page.md"
    main([*map(str, folders), "--out", str(out)])
    text = out.read_text().replace("<details><summary>", "").replace("</summary>", "")
    text = text.replace("</details>", "").replace(f":{CUT}//evil", "")
    assert "onerror" in text and "<img" not in text and "://evil" not in text
    assert not re.search(r"(?<!\\)\]\((?!page\.svg)", text)
    assert "**loud" not in text


@pytest.mark.parametrize("number", [2, 3])
def test_the_command_of_a_page_can_be_copied(study: Make, tmp_path: Path, number: int) -> None:
    place = tmp_path / "it's `$(odd)` ```"
    place.mkdir()
    folders = [study(n).rename(place / f"{n}") for n in range(1, number + 1)]
    out = place / "page.md"
    main([*map(str, folders), "--out", str(out)])
    mark, command = re.findall(r"\n(`+)sh\n(.*)\n\1\n", out.read_text(), re.S)[0]
    assert len(mark) == 4
    words = ["python", "-m", "analysis.repeats", *map(str, folders), "--out", str(out)]
    assert shlex.split(command.replace("\\\n", "")) == words


def test_a_figure_does_not_take_the_place_of_its_page(
    study: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(study(n)) for n in (1, 2, 3)]
    assert main([*folders, "--out", str(tmp_path / "page.svg")]) == 2
    assert "a Markdown file is wanted" in capsys.readouterr().err


def test_all_of_something_is_no_factor(study: Make, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(study(n)) for n in (1, 2, 3)])
    said = capsys.readouterr().out
    assert "contains another's estimate in 100 % of pairs" in said
