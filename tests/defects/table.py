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

Does a certificate notice what it should? These are the real adapters, each spoilt in one way
([tests/packages/planted](../tests/packages/planted/planted)), and what was said of them. A test
plants every one and demands that the check named here catches it, with a message that points at the
cause; without a defect the same code must agree. TensorFlow's adapter where it says so, else
PyTorch's.

`names and shapes`, `copies`, `before training`, `new trainer`, `loss`, `gradient`, `weights`,
`host arrays`, `restart`, `declaration`, `rounding` and `fence` are parts of the certificate; what
explains a refusal is the same mistake, made on purpose in NumPy. `setting` is the ledger, for what
leaves all numbers alone.

Distances are relative (L2). The first gradient is read off one step of plain SGD with a huge
learning rate, so what spoils every update shows in it as well.

`python -m tests.defects.table` writes this page. To add a defect, write a function that spoils a
trainer in the module of its theme, with the check that should catch it and a regular expression for
what should be said, and write the page anew. A defect that nothing catches fails the tests.
"""
LONGEST = 350
HEAD = "| defect | caught by | what is seen | what explains it |"
RULE = "|---|---|---|---|"


def document(caught: Results) -> str:
    from planted.registry import DEFECTS

    lines = [INTRODUCTION, f"{len(DEFECTS)} defects:"]
    for theme, title in TITLES.items():
        lines += ["", f"## {title}", "", HEAD, RULE]
        for key, defect in DEFECTS.items():
            if defect.theme == theme:
                found = caught[key]
                said = (shortened(text) for text in (found.reason, found.cause))
                cells = (summary(defect.name, defect.summary), found.by, *said)
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
