"""Numbers and ids of figures and tables, so that people can cite and link to them."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from analysis.report.figures.style import Figure
from analysis.report.layout import Part
from analysis.report.tables import Table


class Label(NamedTuple):
    """`Figure 3`, and the id of its element."""

    text: str
    id: str


class Labels:
    """The labels of all figures and tables of a page, counted from its first part to its last."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self.labels: dict[int, Label] = {}
        for part in parts:
            shown = part
            if isinstance(shown, Figure):
                self.add(shown, "Figure", f"fig-{shown.name}")
            elif isinstance(shown, Table):
                self.add(shown, "Table", f"table-{shown.file.removesuffix('.csv')}")

    def add(self, part: Figure | Table, kind: str, name: str) -> None:
        number = 1 + sum(label.text.startswith(kind) for label in self.labels.values())
        own = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        taken = {label.id for label in self.labels.values()}
        found = own
        while found in taken:
            found = f"{own}-{int(found[len(own) + 1 :] or 1) + 1}"
        self.labels[id(part)] = Label(f"{kind} {number}", found)

    def __call__(self, part: Figure | Table) -> Label:
        return self.labels[id(part)]
