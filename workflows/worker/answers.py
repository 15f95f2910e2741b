"""What may come out of a worker, one class for each request. Anything else is its failure.

The worker has converted everything already (border.py). The coordinator checks it once more,
because an adapter shares the worker's process.
"""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workflows.records.limits import Amount, Difference, Seconds
from workflows.records.private import KNOWN, UNPRINTABLE, cut
from workflows.records.schema import CacheState, Settings
from workflows.records.storage import with_texts
from workflows.worker.training import SAMPLED

LONGEST = 2000  # characters of any text

Int32 = Annotated[int, Field(ge=0, lt=2**31)]
Int64 = Annotated[int, Field(ge=0, lt=2**63)]
Counted = Annotated[int, Field(ge=0, le=10**12)]  # as much as a record's Amount
Numbers = Annotated[list[float], Field(max_length=SAMPLED)]  # of a tensor
Weights = Annotated[dict[str, Numbers], Field(max_length=10_000)]


class Improper(Exception):
    """An answer that does not have its request's form; the message says what is wrong."""


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Opened(Answer):
    missing: str = ""
    versions: dict[str, str] = {}
    import_s: Seconds | None = None
    idle_mib: Amount | None = None
    caches: dict[str, CacheState] = {}

    @model_validator(mode="after")
    def one_or_the_other(self) -> Self:
        if not self.missing and self.import_s is None:
            raise ValueError("neither what is missing nor how long the import took")
        return self


class Built(Answer):
    build_s: Seconds


class Turn(Answer):
    """The columns of a turn's mini-batches."""

    batch: list[Int32] = Field(min_length=1)
    step: list[Int32]
    start_ns: list[Int64]
    data_ns: list[Int64]
    transfer_ns: list[Int64]
    step_ns: list[Int64]
    cpu_ns: list[Int64]
    switches: list[Int32]
    minor_faults: list[Counted]
    major_faults: list[Counted]
    loss: list[float]
    peak_mib: Amount | None
    outside_s: Seconds
    delivered: str

    @model_validator(mode="after")
    def of_one_length(self) -> Self:
        if len({len(column) for _, column in self if isinstance(column, list)}) > 1:
            raise ValueError("columns of different lengths")
        return self


class InEffect(Answer):
    stated: list[str]
    settings: Settings
    cores: list[int]


class Behaviour(Answer):
    settings: Settings


class Fence(Answer):
    unfenced: Amount


class Unread(Answer):
    same: bool | None


class TrainedRun(Answer):
    losses: list[float]
    again: list[float]
    strange: str
    changed: str


class Gradients(Answer):
    strange: str
    settings: Settings


class Sampled(Answer):
    weights: Weights


class AfterTurn(Sampled):
    late_s: Difference


class TrainedTurns(Sampled):
    read: int
    losses: list[list[float]]
    start: Weights


class Recorded(Answer):
    losses: list[float]


class Profiled(Answer):
    operations: dict[str, Seconds]


ANSWERS: dict[str, type[Answer]] = {
    "open": Opened,
    "pin": Answer,
    "load": Answer,
    "build": Built,
    "turn": Turn,
    "settings": InEffect,
    "behaviour": Behaviour,
    "fence": Fence,
    "unread": Unread,
    "train": TrainedRun,
    "gradients": Gradients,
    "gradients_of_parts": Answer,
    "train_turns": TrainedTurns,
    "weights": AfterTurn,
    "record_run": Recorded,
    "profile": Profiled,
}


def checked(do: str, answer: Any) -> dict[str, Any]:
    """The answer to a request, with nothing in it but what its class says.

    Requests that a subclass of the worker adds have no class; their texts are cleaned only.
    """
    plain = with_texts(answer, line)
    if not isinstance(plain, dict):
        raise Improper(f"answers {do!r} with {type(answer).__name__}")
    if do not in ANSWERS:
        return plain
    try:
        return ANSWERS[do].model_validate(plain).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Improper(f"answers {do!r} with {place or 'values'}: {first['msg']}") from None


def line(text: str, most: int = LONGEST) -> str:
    """A text on one line, without halves of characters and without control characters."""
    whole = text[:KNOWN].encode(errors="replace").decode()
    return cut(UNPRINTABLE.sub("", " ".join(whole.split())), most)
