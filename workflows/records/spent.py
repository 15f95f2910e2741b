"""How long each command before the contests took, for studies with a limit in `minutes`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workflows.records.schema import Record
from workflows.records.storage import write_json


class Spent(Record):
    """`spent/<command>.json`."""

    seconds: float


@contextmanager
def timed(path: Path) -> Iterator[None]:
    """Write how long the block took, unless it raises."""
    begin = time.monotonic()
    yield
    write_json(path, Spent(seconds=round(time.monotonic() - begin, 3)))
