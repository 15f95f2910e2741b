"""What a study with a limit in `minutes` keeps: how long each command before the contests took, and
how many replicates fit."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workflows.records.limits import Replicate, Seconds
from workflows.records.schema import SCHEMA, Record
from workflows.records.storage import write_json


class Spent(Record):
    """`spent/<command>.json`."""

    seconds: Seconds


@contextmanager
def timed(path: Path) -> Iterator[None]:
    """Write how long the block took, unless it raises."""
    begin = time.monotonic()
    yield
    write_json(path, Spent(seconds=round(time.monotonic() - begin, 3)))


class ReplicatesRecord(Record):
    """`replicates.json`: how many replicates fit in the `minutes` of a study.

    `most` is the study's `replicates`, and `key` identifies what its contests measure. Seconds were
    spent `before` the contests, on the first contest of each group, and are allowed for what is
    `around` them; `total` is for the whole study.
    """

    schema_version: int = SCHEMA
    replicates: Replicate
    minutes: Seconds
    most: Replicate | None
    key: str
    before_s: Seconds
    contests_s: dict[str, Seconds]
    around_s: Seconds
    total_s: Seconds
    sentence: str  # for people
