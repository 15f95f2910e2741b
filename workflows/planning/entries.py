"""The sections of a study's configuration, and what a key of it changes."""

import os
import re
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from frameworks.description import NAME as OFFERED
from frameworks.description import VERSION
from frameworks.device import DEVICES
from frameworks.registry import UnknownFramework, framework, try_to_load
from frameworks.workloads import Workload
from frameworks.workloads.datasets.mnist import Source, Split
from frameworks.workloads.optimisers import OPTIMISERS
from frameworks.workloads.workload import LOOSEST
from workflows.planning.possible import (
    LISTED,
    STEPS,
    TURN,
    a_path,
    known_optimiser,
    one_line,
    without_repeats,
)
from workflows.records.kinds import dealt
from workflows.records.limits import DAY_S, THREADS, TIMEOUT_S
from workflows.records.schema import UNCOMPARED, percentage
from workflows.records.thresholds import TOLERANCE, UNDECIDED


class Scope(Enum):
    """What a key changes. A key without a scope changes what a contest measures."""

    CONCLUSIONS = "conclusions"  # drawn from measurements that stay the same
    CERTIFICATES = "certificates"
    RESOLVED = "resolved"  # the keys of results hold what this one leads to on this machine


if TYPE_CHECKING:
    Device = str
else:
    Device = Literal[*DEVICES]
Threads = Annotated[int, Field(ge=1, le=THREADS)] | Literal["all"]
Interpreters = dict[str, Annotated[str, AfterValidator(a_path), AfterValidator(os.path.expanduser)]]


class Section(BaseModel):
    """Keys of a configuration, each marked with its scope if it does not change measurements."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def scopes(cls, prefix: str = "") -> Iterator[tuple[str, Scope | None]]:
        """Every key with its scope.

        Keys of a nested section include their path, for example `controls.alone`, unless the whole
        section has a scope.
        """
        for name, field in cls.model_fields.items():
            scope = next((mark for mark in field.metadata if isinstance(mark, Scope)), None)
            own = [part for part in (field.annotation, *get_args(field.annotation))
                   if isinstance(part, type) and issubclass(part, Section)]  # fmt: skip
            if scope or not own:
                yield prefix + name, scope
            for section in own if scope is None else []:
                yield from section.scopes(f"{prefix}{name}.")

    def measured(self, *without: Scope) -> dict[str, Any]:
        """The values as JSON has them, but for the keys in one of the scopes."""
        values = self.model_dump(mode="json")
        for path, scope in self.scopes():
            *sections, key = path.split(".")
            place: Any = values
            for section in sections:
                place = place and place[section]
            if place and scope in without:
                del place[key]
        return values


class ContenderEntry(Section):
    """Contenders of one framework: its variants times devices times thread counts.

    `version` names versions of the framework, which become frameworks of their own: `framework:
    jax` with `version: [0.10.1, 0.10.2]` is `jax-0.10.1` and `jax-0.10.2`, each in an environment
    of its own. Without `devices` or `threads`, the study's values apply. If a contender that is
    `required` cannot run, the study stops with an error; otherwise the report has a row with the
    reason.
    """

    framework: str
    variants: Annotated[list[str], Field(min_length=1), AfterValidator(without_repeats)] = [
        "default"
    ]
    devices: list[Device] | None = Field(default=None, min_length=1, max_length=LISTED)
    threads: list[Threads] | None = Field(default=None, min_length=1, max_length=LISTED)
    required: bool = False

    @staticmethod
    def by_version(entry: Any) -> list[Any]:
        """The entry, once for each of its versions."""
        if not isinstance(entry, dict) or "version" not in entry:
            return [entry]
        versions = entry["version"]
        listed = versions if isinstance(versions, list) else [versions]
        if not listed:
            raise ValueError("version: at least one is wanted")
        fixed = {key: value for key, value in entry.items() if key != "version"}
        for version in listed:
            if not isinstance(version, str) or not re.fullmatch(VERSION, version):
                raise ValueError(
                    f"version: text like 0.10.2 is wanted (two numbers in quotes: '0.10'), got "
                    f"{version!r:.80}"
                )
        without_repeats(listed)
        return [{**fixed, "framework": f"{entry.get('framework')}-{own}"} for own in listed]

    @model_validator(mode="after")
    def known(self) -> Self:
        if key := UNCOMPARED.get(self.framework):
            raise ValueError(
                f"{self.framework} cannot be a contender: `{key}: true` lets it take turns"
            )
        try:
            try_to_load(self.framework)
            description = framework(self.framework)
        except UnknownFramework as error:
            raise ValueError(str(error)) from None
        for variant in self.variants:
            if variant not in description.variants:
                raise ValueError(
                    f"{self.framework} has no variant {variant!r} "
                    f"(it has: {', '.join(description.variants)})"
                )
        for name in (self.framework, *self.variants):
            if not OFFERED.fullmatch(name) or len(name) > 100:
                raise ValueError(
                    f"{name!r} cannot become a file: a package may name frameworks and variants "
                    "with lower-case letters, digits and _ . - only, a letter first"
                )
        return self


class MnistEntry(Section):
    """Where MNIST comes from; see docs/configuration.md, "MNIST"."""

    source: Source = "auto"
    folder: Annotated[str, AfterValidator(a_path)] | None = None
    split: Split = "train"


def all_or_lists(entry: Any) -> Any:
    """One message instead of one for each type that an entry may have."""
    lists = isinstance(entry, list) and all(isinstance(own, list) and own for own in entry)
    if not (isinstance(entry, bool) or lists):
        raise ValueError("true, false or lists of names are wanted, such as [[mlp, mnist-cnn]]")
    return entry


class ContestEntry(Section):
    """The schedule of one contest, in mini-batches.

    Each contender first runs `warmup` mini-batches, then in each of `rounds` one turn of `turn`.
    The first `discard` of a turn are recorded but not counted as steady state.

    `together` says which workloads share a contest: `true` for all of them, `false` for one
    workload a contest, or lists of their names (a workload in no list has its own contest).
    Sharing saves starting the frameworks once for each workload. It takes more memory, because
    each process holds the networks and mini-batches of all its workloads; if that is too much,
    lists make smaller contests. The name of a sweep stands for all its workloads. A workload that
    joins a contest has the others measured again.
    """

    together: Annotated[
        bool | list[Annotated[list[str], Field(min_length=1)]],
        BeforeValidator(all_or_lists),
        Scope.RESOLVED,
    ] = True
    warmup: int = Field(default=5, ge=1, le=TURN)
    rounds: int = Field(default=8, ge=1, le=10_000)
    turn: int = Field(default=4, ge=2, le=TURN)
    discard: int = Field(default=1, ge=0, le=TURN)
    timeout_s: float = Field(default=TIMEOUT_S, ge=5, le=DAY_S)

    @model_validator(mode="after")
    def leaves_steady_state(self) -> Self:
        if self.warmup + self.rounds * self.turn > STEPS:
            raise ValueError(f"more than {STEPS:,} mini-batches of a contender")
        if self.discard >= self.turn:
            raise ValueError(f"discard {self.discard} leaves nothing of a turn of {self.turn}")
        return self

    def dealt(self, number: int) -> tuple[int, int]:
        """The first mini-batch of every turn of a round, and how many there are. Round 0 is the
        warm-up."""
        return dealt(self.warmup, self.turn, number)


class MachineEntry(Section):
    """A kind of node of a cluster; see docs/cluster.md. Its `interpreters` go over the study's."""

    partition: Annotated[str, AfterValidator(one_line)] = ""
    constraint: Annotated[str, AfterValidator(one_line)] = ""
    gpus: int = Field(default=0, ge=0, le=1000)
    interpreters: Interpreters = {}


class CertificateEntry(Section):
    """How long contenders must agree in float64, and how closely (relative).

    Each contender proves each of `optimisers` once: on the workloads that train with it, or else
    on the workload whose steps cost least. `rounding` is how far the first float32 gradients may
    be from float64's, unless a reduced precision explains more.
    """

    steps: int = Field(default=500, ge=10, le=100_000)
    full_steps: int = Field(default=3, ge=1, le=1000)
    tolerance: float = Field(default=TOLERANCE, ge=1e-15, le=LOOSEST)
    optimisers: Annotated[
        list[Annotated[str, AfterValidator(known_optimiser)]], AfterValidator(without_repeats)
    ] = list(OPTIMISERS)
    rounding: float = Field(default=1e-5, ge=1e-8, le=UNDECIDED)

    def allowed(self, workload: Workload) -> Self:
        """The same, as far as the workload allows: fewer steps, larger errors."""
        own = workload.certificate
        changed = {
            "steps": min(self.steps, own.steps or self.steps),
            "full_steps": min(self.full_steps, own.full_steps or self.full_steps),
            "tolerance": max(self.tolerance, own.tolerance or self.tolerance),
            "rounding": max(self.rounding, own.rounding or self.rounding),
        }
        return self.model_copy(update=changed)


def all_distinct(shares: list[float]) -> list[float]:
    without_repeats([percentage(share) for share in shares])
    return shares


class ControlsEntry(Section):
    """A control runs a contender a second time, in another process: the study tests itself.

    The `twin` is unchanged: its true ratio to the contender is 1. For each of `handicaps`, the
    harness slows a control by that share of its time: for 0.10, the true ratio is 1.10. It waits
    that long after each turn, and adds the time to the turn's steps.
    `of` is the reference framework (its `variant`, or its first), or `all` contenders.
    `alone` makes an A/A study, in which no framework is compared with another.
    """

    of: Literal["reference", "all"] = "reference"
    variant: str = "default"
    twin: bool = True
    handicaps: Annotated[
        list[Annotated[float, Field(ge=1e-4, le=2)]],
        Field(max_length=LISTED),
        AfterValidator(all_distinct),
    ] = [0.10]
    alone: Annotated[bool, Scope.CONCLUSIONS] = False

    @model_validator(mode="after")
    def some(self) -> Self:
        if not self.kinds:
            raise ValueError("neither a twin nor a handicap: `controls: false` does without")
        return self

    @property
    def kinds(self) -> list[tuple[str, float]]:
        """Each control's label, and the share by which it is slowed."""
        slowed = [(percentage(share), share) for share in self.handicaps]
        return [("twin", 0.0)] * self.twin + slowed
