"""The table of defects in the documentation: `python -m tests.defects.table` writes it anew."""

import os
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

from frameworks.contract import Setting
from tests.conftest import ROOT
from tests.defects.catching import Results, catch, planted
from tests.defects.workloads import WORKLOADS

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

Does samestep notice what it should? This page lists the real adapters, each spoilt in one way
([tests/packages/planted](../tests/packages/planted/planted)), and what samestep said of them. A
test plants every defect. The check named here must catch it, with a message that points at the
cause. Without a defect the same code must agree. The last table is about TensorFlow's adapter, all
others are about PyTorch's.

`names and shapes`, `copies`, `before training`, `new trainer`, `loss`, `gradient`, `weights`,
`host arrays`, `restart`, `declaration`, `rounding` and `fence` are parts of the certificate.
`setting` is the audit of settings, for defects that change no number.

A refusal is explained in one of two ways. "Trains exactly like one that" names a mistake of the
catalogue ([frameworks/oracle/mistakes](../frameworks/oracle/mistakes)), which makes the same
numbers in NumPy. Any other mistake is located: the explanation says where the miniature first
differs.

The last column has the answers of the harness's probes, if a probe shows the defect.

Distances are relative (L2). The first gradient is read off one step of plain SGD with a huge
learning rate, so it also shows what spoils every update.

`python -m tests.defects.table` writes this page. To add a defect, write a function that spoils a
trainer in the module of its subject. Give it the check that should catch it, a regular expression
for the message, and the answers of the probes. Then write the page anew. A defect that nothing
catches fails the tests.
"""
LONGEST = 350
HEAD = "| defect | caught by | what is seen | what explains it | probes |"
RULE = "|---|---|---|---|---|"


def document(caught: Results) -> str:
    from planted.registry import DEFECTS

    lines = [INTRODUCTION, f"{len(DEFECTS)} defects:"]
    for theme, title in TITLES.items():
        lines += ["", f"## {title}", "", HEAD, RULE]
        for key, defect in DEFECTS.items():
            if defect.theme == theme:
                found = caught[key]
                said = (shortened(text) for text in (found.reason, found.cause))
                cells = (
                    summary(defect.name, defect.summary), found.by, *said, answers(defect.probes)
                )  # fmt: skip
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def summary(name: str, text: str) -> str:
    return f"`{name}`: {text}".replace("|", "\\|")


def answers(probes: Mapping[str, Mapping[str, Setting]]) -> str:
    """`name`: answer, each answer once, though several workloads show it."""
    found = {name: value for answers in probes.values() for name, value in answers.items()}
    return ", ".join(f"`{name}`: {value}" for name, value in found.items())


def shortened(message: str) -> str:
    return textwrap.shorten(message, LONGEST, placeholder=" ...").replace("|", "\\|")


def main() -> None:
    with planted(), tempfile.TemporaryDirectory() as folder:
        os.environ["SAMESTEP_LOCK"] = str(Path(folder) / "machine.lock")
        caught = [catch(Path(folder) / workload, workload) for workload in WORKLOADS]
        DOCUMENT.write_text(document({k: v for found in caught for k, v in found.items()}))
    print(f"wrote {DOCUMENT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
