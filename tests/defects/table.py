"""The table of defects in the documentation: `python -m tests.defects.table` writes it anew."""

import os
import tempfile
import textwrap
from collections import Counter
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
    "residual": "Residual blocks and batch normalisation",
    "sequences": "Embeddings and LSTMs",
    "loss": "Loss",
    "state": "State and declarations",
    "precision": "Precision",
    "as_timed": "Right in float64, wrong as timed",
    "behaviour": "Other work, or at another time",
    "in_tensorflow": "In TensorFlow",
}
INTRODUCTION = """\
# Planted defects

samestep catches all {number} defects that were planted in it, each by the check that should catch
it. Every defect is a real adapter, spoilt in one way
([tests/packages/planted](../tests/packages/planted/planted)). A test plants each one. The message
must point at the cause. Without a defect the same code must agree. The last theme is about
TensorFlow's adapter, all others are about PyTorch's.
"""
NOTES = """
Most checks are parts of the certificate ([method.md](method.md#same-computation)). `setting` is the
audit of settings, for defects that change no number.

## Each defect

Distances are relative (L2). The first gradient is read off one step of plain SGD with a huge
learning rate, so it also shows everything that spoils an update. A refusal is explained in one of
two ways. "Trains exactly like one that" names a known mistake
([frameworks/oracle/mistakes](../frameworks/oracle/mistakes)), which gives the same numbers in
NumPy. Otherwise the explanation says where a tiny model first differs. The last column has the
answers of the harness's probes, if one shows the defect.
"""
ADDING = """
## Add a defect

Write a function that spoils a trainer in the module of its subject. Give it the check that should
catch it, a regular expression for the message, and the answers of the probes. Then write this page
again: `python -m tests.defects.table`. A defect that nothing catches fails the tests.
"""
LONGEST = 350
HEAD = "| defect | caught by | what is seen | what explains it | probes |"
RULE = "|---|---|---|---|---|"


def document(caught: Results) -> str:
    from planted.registry import DEFECTS

    lines = [INTRODUCTION.format(number=len(DEFECTS)), "| theme | defects | caught by |"]
    lines += ["|---|---:|---|"]
    folds = []
    for theme, title in TITLES.items():
        own = {key: defect for key, defect in DEFECTS.items() if defect.theme == theme}
        checks = Counter(caught[key].by for key in own).most_common()
        by = ", ".join(f"`{check}` {number}" for check, number in checks)
        lines.append(f"| {title} | {len(own)} | {by} |")
        folds += ["", f"<details><summary>{title}: {len(own)}</summary>", "", HEAD, RULE]
        for key, defect in own.items():
            found = caught[key]
            said = (shortened(text) for text in (found.reason, found.cause))
            cells = (
                summary(defect.name, defect.summary), found.by, *said, answers(defect.probes)
            )  # fmt: skip
            folds.append(f"| {' | '.join(cells)} |")
        folds += ["", "</details>"]
    return "\n".join([*lines, NOTES.rstrip(), *folds, ADDING.rstrip()]) + "\n"


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
