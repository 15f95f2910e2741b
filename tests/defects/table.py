"""The table of defects in the documentation: `python -m tests.defects.table` writes it anew."""

import os
import tempfile
import textwrap
from pathlib import Path

from tests.conftest import ROOT
from tests.defects.catching import Results, catch, planted

DOCUMENT = ROOT / "docs" / "defects.md"
TITLES = {
    "optimiser": "Optimisers",
    "updates": "Updates",
    "data": "Data",
    "weights": "Weights",
    "network": "Layers",
    "loss": "Loss",
    "state": "State and declarations",
    "precision": "Precision",
    "behaviour": "Other work, or at another time",
    "in_tensorflow": "In TensorFlow",
}
INTRODUCTION = """\
# Planted defects

Who says that the certificate would notice? These are the real adapters, each spoilt in one way on
purpose ([tests/packages/planted](../tests/packages/planted/planted)), and what was said of them.
A test plants every one and demands that the check named here refuses it with a message that points
at the cause; without a defect the same code must agree.

The table is written by `python -m tests.defects.table`. To add a defect, write a function in the
module of its theme there that spoils a trainer, with the check that should catch it and a regular
expression for what should be said, and write the table anew. A defect that nothing catches fails
the tests.
"""
LONGEST = 220


def document(caught: Results) -> str:
    from planted.registry import DEFECTS

    lines = [INTRODUCTION, f"{len(DEFECTS)} defects:"]
    for theme, title in TITLES.items():
        lines += ["", f"## {title}", "", "| defect | caught by | what it says |", "|---|---|---|"]
        for key, defect in DEFECTS.items():
            if defect.theme == theme:
                found = caught[key]
                cells = (summary(defect.name, defect.summary), found.by, shortened(found.message))
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def summary(name: str, text: str) -> str:
    return f"`{name}`: {text}".replace("|", "\\|")


def shortened(message: str) -> str:
    return textwrap.shorten(message, LONGEST, placeholder=" ...").replace("|", "\\|")


def main() -> None:
    with planted(), tempfile.TemporaryDirectory() as folder:
        os.environ["SAMESTEP_LOCK"] = str(Path(folder) / "machine.lock")
        DOCUMENT.write_text(document(catch(Path(folder))))
    print(f"wrote {DOCUMENT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
