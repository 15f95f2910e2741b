"""The kinds of what analysis reads from a study's configuration and from `system_info`.

Their keys change from version to version, so only the keys that analysis reads are here; all others
may hold anything. No value is changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict  # as pydantic wants it before Python 3.12

from workflows.records.limits import LONGEST_TURN, Anything, Count

ROUNDS = 2**15 - 1
LISTED = 200  # variants, devices or numbers of threads, all of which are combined
LONGEST_S = 1e6  # earlier versions allowed this time-out
GIB = 2**20  # more memory than any machine has

Mapped = ConfigDict(strict=True, extra="allow")
Steps = Annotated[int, Field(ge=1, le=LONGEST_TURN)]
Names = Annotated[list[str], Field(max_length=LISTED)]
Threads = Annotated[list[int | Literal["all"]], Field(max_length=LISTED)]


class Deal(TypedDict, total=False):
    """How many mini-batches a contender has in the warm-up and in each turn of the rounds."""

    __pydantic_config__ = Mapped  # type: ignore[misc]
    warmup: Steps
    rounds: Annotated[int, Field(ge=1, le=ROUNDS)]
    turn: Steps
    discard: Annotated[int, Field(ge=0, le=LONGEST_TURN)]
    timeout_s: Annotated[float, Field(gt=0, le=LONGEST_S)]


class Contenders(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    framework: str
    variants: Names
    devices: Names | None
    threads: Threads | None


class Controls(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    variant: str
    twin: bool
    handicaps: list[Annotated[float, Field(gt=0, le=1000)]]
    alone: bool


class Mnist(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    source: str


class Configuration(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    contest: Deal
    contenders: list[Contenders]
    controls: Controls | Literal[False] | None
    devices: Names
    threads: Threads
    workloads: dict[str, Any]
    sweeps: dict[str, dict[str, Any]]
    mnist: Mnist
    minutes: float | None
    tf32: bool


class Processor(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    model: str
    logical: Count | None
    available: list[Count]
    caches_kib: dict[str, int]
    flags: list[str]


class Memory(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    total_gib: Annotated[float, Field(gt=0, le=GIB)]
    pages_kept_by_core: str


class System(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    kernel: str
    boot: str


class Virtualisation(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    hypervisor: bool
    machine: str
    container: str


class SystemInfo(TypedDict, total=False):
    __pydantic_config__ = Mapped  # type: ignore[misc]
    summary: str
    cpu: Processor
    memory: Memory
    gpus: list[dict[str, Any]]
    virtualisation: Virtualisation
    system: System
    energy: dict[str, str]


@dataclass(frozen=True)
class Like:
    """Checks that a value has the keys of a `TypedDict` in their kinds, and leaves it as it is."""

    kind: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        kinds = handler.generate_schema(self.kind)
        checked = core_schema.no_info_wrap_validator_function(unchanged, kinds)
        return core_schema.chain_schema([handler(source), checked])


def unchanged(value: Any, check: Callable[[Any], Any]) -> Any:
    check(value)
    return value


Asked = Annotated[Anything, Like(Configuration)]
Around = Annotated[Anything, Like(SystemInfo)]


def dealt(warmup: int, turn: int, number: int) -> tuple[int, int]:
    """The first mini-batch of every turn of a round, and how many there are. Round 0 is the
    warm-up."""
    return (warmup + (number - 1) * turn, turn) if number else (0, warmup)
