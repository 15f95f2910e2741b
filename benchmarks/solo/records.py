"""What was measured: the times of each contender in each cycle, in turns and alone."""

import json
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workflows.records.schema import Code, Contender, Record
from workflows.records.storage import read_json
from workflows.records.whole_files import atomic

Way = Literal["turns", "alone"]


class Run(Record):
    """One contender on one workload in one cycle. `ms` are the times of its steady mini-batches,
    transfer and step, by turn; alone there is one turn. `took_s` is the time that the contest
    spent on it, its part of the start included."""

    cycle: int
    way: Way
    workload: str
    contender: Contender
    took_s: float
    ms: list[list[float]]

    @property
    def logs(self) -> NDArray[np.float64]:
        """Logarithms of the times, (turns, mini-batches)."""
        return np.log(np.array(self.ms))


class Solo(Record):
    """All runs of one occasion. The contest's deal is in mini-batches."""

    machine: str
    summary: str  # of the machine, for people
    started: str  # ISO 8601, UTC
    ended: str
    code: Code
    versions: dict[str, str]
    reference: str  # framework that ratios refer to
    titles: dict[str, str]
    warmup: int
    rounds: int
    turn: int
    discard: int
    runs: list[Run]


def write(path: Path, solo: Solo) -> None:
    """Write the record as JSON, a run a line."""
    head = solo.model_dump(mode="json")
    lines = [json.dumps(run) for run in head.pop("runs")]
    text = json.dumps({**head, "runs": []}, indent=1).replace(
        '"runs": []', '"runs": [\n' + ",\n".join(lines) + "\n]"
    )
    with atomic(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> Solo:
    return read_json(path, Solo)
