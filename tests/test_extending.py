"""docs/extending.md, done as it says: files written, commands run, outputs compared.

`SAMESTEP_REWRITE=1 python -m pytest tests/test_extending.py` puts the outputs into it.
"""

import os
import re
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.kills.study import copy_code
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "extending.md"
REWRITE = bool(os.environ.get("SAMESTEP_REWRITE"))  # before the tests' surroundings forget it
BLOCK = re.compile(
    r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.S | re.M
)
NEEDED = ("autograd", "torch")
MISSING = [name for name in NEEDED if not find_spec(name)]

# What another machine or another day makes different.
NUMBER = re.compile(r"(&lt; )?\d[\d,.]*(e[-+]?\d+)?( to \d[\d.]*)?")
VERDICT = re.compile(r"faster|slower|equivalent|cannot tell|no steady state")
SEEN = re.compile(r"(?<=^holds)( +\S+( \S+)*)  .*", re.M)  # of a rule: measured, said in words


def compared(text: str) -> list[str]:
    """Lines as far as they must be the same everywhere; widths of columns follow from numbers."""
    same = VERDICT.sub("(verdict)", NUMBER.sub("#", SEEN.sub(r"\1", text)))
    return [re.sub(r"\s+|[-: ]+(?=\|)", " ", line).strip() for line in same.strip().splitlines()]


@pytest.fixture
def reader(tmp_path):
    """What somebody has who begins: a clone, and an activated environment to install into."""
    clone = tmp_path / "samestep"
    clone.mkdir()
    copy_code(clone)
    venv.create(tmp_path / "venv", with_pip=False)
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    outer = [path for path in sys.path if path.endswith("site-packages")]
    outer += [str(Path(find_spec(name).origin).parents[1]) for name in NEEDED]
    (site / "outer.pth").write_text("\n".join(dict.fromkeys(outer)))
    for tool in ("pip", "snakemake", "samestep"):
        script = tmp_path / "venv" / "bin" / tool
        script.write_text(f'#!/bin/sh\nexec python -m {tool} "$@"\n')
        script.chmod(0o755)
    surroundings = {
        **os.environ,
        "PATH": os.pathsep.join([str(tmp_path / "venv" / "bin"), os.environ["PATH"]]),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # which means: without isolation
    }
    surroundings.pop("PYTHONPATH", None)

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=clone,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}{done.stdout}{done.stderr}"
        return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip() + "\n"

    run.folder = clone
    return run


@pytest.mark.all
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_the_page_says_what_happens(reader):
    page, output, command = PAGE.read_text(), "", ""
    outputs = []
    for block in BLOCK.finditer(page):
        kind, text = block["kind"], block["text"]
        if kind == "sh":
            command, output = text, reader(text)
        elif kind == "text":
            outputs.append((block.span("text"), output))
            assert REWRITE or compared(text) == compared(output), f"{command}{output}"
        elif kind != "text":
            assert block["file"], f"a file without its name:\n{text}"
            file = reader.folder / block["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    assert len(outputs) >= 4
    if REWRITE:
        for (begin, end), output in reversed(outputs):
            page = page[:begin] + output + page[end:]
        PAGE.write_text(page)


def test_another_days_numbers_are_the_same_and_other_words_are_not():
    row = "| mlp | 1.28 | 1.20 to 1.36 | &lt; 0.0001 | slower | agrees to 6.0e-15 |"
    other = "| mlp | 0.9 | 0.8 to 1 | 0.02 | cannot tell | agrees to 6.0e-14 |"
    assert compared(row) == compared(other)
    assert compared(row) != compared(row.replace("agrees", "refused"))
    rule = "holds           first loss    2 networks, at most 0.0e+00 from plain NumPy's"
    assert compared(rule) == compared("holds     first loss    1 network, 1e-16 off")
    assert compared(rule) != compared(rule.replace("holds", "broken"))
    assert compared(rule) != compared(rule.replace("first loss", "fence"))
