"""The mini-batch table of one contest while it grows, in the columns of `BATCHES`."""

from typing import Any

from workflows.records.columns import BATCHES
from workflows.records.schema import Contender


class Columns:
    """`values` holds a list per column, all of one length."""

    def __init__(self, study: str, machine: str, replicate: int) -> None:
        self.values: dict[str, list[Any]] = {name: [] for name in BATCHES.names}
        self.contest = {"study": study, "machine": machine, "replicate": replicate}

    def add(
        self,
        workload: str,
        contender: Contender,
        number: int,
        position: int,
        discard: int,
        rows: dict[str, Any],
    ) -> None:
        """Append one turn: the worker's columns, in round `number` at `position` of its
        order. The first `discard` mini-batches are marked as warm-up."""
        count = len(rows["step"])
        constant = {
            **self.contest,
            "workload": workload,
            "contender": contender.name,
            "framework": contender.framework,
            "variant": contender.variant,
            "device": contender.device,
            "threads": contender.threads,
            "round": number,
            "position": position,
        }
        for name, value in constant.items():
            self.values[name] += [value] * count
        self.values["warmup"] += [place < discard for place in range(count)]
        for name, values in rows.items():
            self.values[name] += values
