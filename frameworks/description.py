"""How a framework is described: its name, its variants, and where its adapter is. Reading a
description imports no framework."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from frameworks.device import DEVICES
from frameworks.formats import FORMATS
from frameworks.operations import Table

# Names of frameworks and variants become names of files and words of a command.
NAME = re.compile(r"[a-z][a-z0-9_.-]*")
VERSION = r"\d[0-9a-z.]*"
VERSIONED = re.compile(rf"(?P<base>.+)-(?P<version>{VERSION})")  # `jax-0.10.1`
Part = Literal["forward", "gradient"]  # of a step, that a variant may be
PARTS: tuple[Part, ...] = ("forward", "gradient")
LONGEST = 1000  # characters of a text
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # the name of an environment variable
DEVIATING = ("optimiser.", "state.")  # beginnings of what may deviate


def require(key: str, value: Any, kind: type, named: bool = False) -> None:
    """Raise TypeError unless the value is a tuple of this kind, or a dict if they are `named`."""
    many = Mapping if named else (tuple, list)
    own = value.values() if isinstance(value, Mapping) else value
    if not (isinstance(value, many) and all(isinstance(one, kind) for one in own)):
        asked = "dict" if named else "tuple"
        raise TypeError(f"{key}={value!r:.80}: a {asked} of {kind.__name__} is asked for")


@dataclass(frozen=True)
class Deviation:
    """A known difference between what a variant computes and what the workload says.

    `component` names the optimiser that deviates (`optimiser.adam`), or a tensor of a layer's state
    that nothing else depends on (`state.batch_norm.variance`). Layers and losses must agree.

    For an optimiser, the certificate measures the relative difference of the loss over the first
    ten steps. It must stay within `loss_within`, and vanish if plain SGD replaces the optimiser.
    For state, the tensor's relative difference must stay within `state_within` (of a running mean,
    relative to the values that it is the mean of). `mistake` is a name in
    `frameworks.oracle.mistakes`; docs/extending.md lists those of optimisers. Training and state
    must then follow plain NumPy with that mistake to 1e-9, in every step of the certificate. A
    deviation without a name is refused.
    """

    component: str
    reason: str
    loss_within: float = 0.0
    mistake: str = ""
    state_within: float = 0.0

    def __post_init__(self) -> None:
        if not self.component.startswith(DEVIATING):
            raise ValueError(
                f"a deviation of {self.component!r}: it begins with {' or '.join(DEVIATING)}, "
                "because layers and losses must agree"
            )
        for name, value in (("loss_within", self.loss_within), ("state_within", self.state_within)):
            if not (isinstance(value, int | float) and 0 <= value < math.inf):
                raise ValueError(f"{self.component}: {name} is {value}, no number from 0 on")


@dataclass(frozen=True)
class Cache:
    """Where a compiler keeps what it has compiled for later processes, which then start faster.

    The environment variable `variable` names the folder, or holds options of which `option` does.
    Without the variable, the folder is `otherwise`, below the temporary folder, with the user's
    name for `{user}`; nothing is kept if that is "".
    """

    name: str
    variable: str
    option: str = ""
    otherwise: str = ""

    def __post_init__(self) -> None:
        if set("{}") & {*self.otherwise.replace("{user}", "")}:
            raise ValueError(f"cache {self.name}: {self.otherwise!r} may have {{user}} in braces")


@dataclass(frozen=True)
class Variant:
    """One way to write the workload in a framework.

    `rebuilds`: building a trainer costs about one step, so the harness may rebuild it every turn.
    False if building traces or compiles; the harness then restores the weights instead.

    `pitfall`: the mistake or default that this variant shows, in a few words for a figure's
    label. The variant's name begins with `trap-`, it runs only if a study lists it, and it need
    not agree with the reference. It is compared only with `compared_with`, a variant of the same
    framework that avoids the pitfall.

    `unread`, of a pitfall: the harness reads its loss only after the last mini-batch of a turn,
    so that nothing waits for the steps before.

    `part`: which part of the step of `compared_with` this variant is. `forward` computes the loss,
    as training does; `gradient` computes the loss and all gradients. Neither changes a weight. The
    variant's name begins with `part-`, and it runs only if a study lists it. It is compared only
    with `compared_with`, never with another framework, and never ranked. The trainer of a
    `gradient` has the method `gradients`. Its certificate compares losses at the initial weights
    and gradients with those of the reference's whole step.

    `reduced`: the format (frameworks/formats.py) in which it computes products if float32 is asked
    for. In float64 it is off. The variant's name begins with the format's, and it runs only if a
    study lists it. It is compared only with `compared_with`, which computes in float32, and never
    ranked. Its certificate probes for the format, and bounds how far it may be from float64.

    `change`: what this variant changes in `compared_with`, in a few words for a figure's label, if
    it is a step on the way from `default` to `tuned`. config/ablation.yaml lists all steps.

    `variables`: environment variables set before the import; they override the framework's.
    Variants with different variables never share a process.

    `timed`: what the variant's time covers, if that is more than transfer and step. The report
    says so.

    `caches`: those of the compilers that compile its step, if any.
    """

    summary: str
    rebuilds: bool = True
    deviations: tuple[Deviation, ...] = ()
    pitfall: str = ""
    unread: bool = False
    part: Part | Literal[""] = ""
    reduced: str = ""
    change: str = ""
    compared_with: str = "default"
    variables: Mapping[str, str] = field(default_factory=dict)
    timed: str = ""
    caches: tuple[Cache, ...] = ()

    def __post_init__(self) -> None:
        require("deviations", self.deviations, Deviation)
        if self.unread and not self.pitfall:
            raise ValueError("a variant whose losses are not read, and that is no pitfall")

    @property
    def ranked(self) -> bool:
        """Whether it is compared with other frameworks: unless it is a pitfall or a part, or
        computes in a reduced format."""
        return not (self.pitfall or self.part or self.reduced)


@dataclass(frozen=True)
class Framework:
    """A framework's description; nothing here needs the framework to be installed."""

    name: str
    title: str
    distributions: tuple[str, ...]  # pip's names; one of them installed is enough
    install: str
    adapter: str  # "module:Class"
    variants: Mapping[str, Variant]
    devices: tuple[str, ...] = ("cpu", "gpu")
    companions: tuple[str, ...] = ()  # more distributions whose versions are recorded
    variables: Mapping[str, str] = field(default_factory=dict)  # set before the import
    # Modules that its import takes in if they are installed, and does not need. samestep hides them
    # from the import, because they are installed for samestep or another framework.
    optional_imports: tuple[str, ...] = ()
    # Without float64, `Adapter.__init__` raises Unavailable for it, and certificates hold in
    # float32 only and say so.
    precisions: tuple[str, ...] = ("float32", "float64")
    # One of several versions in a study (`jax-0.10.1`): its number. "": whatever is installed.
    version: str = ""
    # For `isolate: true`: a requirements file beside the adapter's module, with a .lock of the
    # same name that pins every version. "": install the adapter's package and the first of
    # `distributions` by name.
    requirements: str = ""
    # What the names in `Trainer.profile` stand for (frameworks/operations.py).
    operations: Table = ()
    # Whether its adapter offers the framework's own loader of mini-batches (`Adapter.loader`).
    loader: bool = False
    # Why the package cannot be loaded. The registry sets it, so that contenders are rows.
    unloadable: str = ""

    @property
    def texts(self) -> Iterator[str]:
        """All that people see of it."""
        yield from (self.title, self.install, self.adapter, *self.distributions, *self.companions)
        yield from chain.from_iterable(self.every_variable)
        for name, one in self.variants.items():
            yield from (name, one.summary, one.pitfall, one.change, one.compared_with, one.timed)
            for deviation in one.deviations:
                yield from (deviation.component, deviation.reason, deviation.mistake)

    @property
    def every_variable(self) -> Iterator[tuple[str, str]]:
        """All environment variables that it and its variants set."""
        yield from self.variables.items()
        for one in self.variants.values():
            yield from one.variables.items()

    @property
    def unversioned(self) -> str:
        """Its name without the version: `jax` for `jax-0.10.1`."""
        return self.name.removesuffix(f"-{self.version}")

    def has_float64(self, device: str) -> bool:
        """Whether it computes in float64 on this kind of device."""
        return "float64" in self.precisions and DEVICES[device].float64

    @property
    def intermediate(self) -> frozenset[str]:
        """The variants that are only a step on the way from `default` to another."""
        bases = {one.compared_with for one in self.variants.values() if one.change}
        return frozenset(bases - {"default"})

    def __post_init__(self) -> None:
        for key in ("distributions", "devices", "companions", "optional_imports", "precisions"):
            require(key, getattr(self, key), str)
        require("variants", self.variants, Variant, named=True)
        for name, value in self.every_variable:
            if not (isinstance(value, str) and VARIABLE.fullmatch(str(name))):
                raise ValueError(
                    f"{self.name}: no environment variable: {name!r}: {value!r}; names have "
                    "letters, digits and _, values are texts"
                )
        if not self.title.strip():
            raise ValueError(f"{self.name}: its title is blank")
        for text in self.texts:
            if not text.isprintable():
                raise ValueError(f"{self.name}: {text!r} has characters that are not printed")
            if len(text) > LONGEST:
                raise ValueError(
                    f"{self.name}: a text of {len(text):,} characters, {LONGEST:,} are shown: "
                    f"{text[:40]!r}..."
                )
        for name, variant in self.variants.items():
            if bool(variant.pitfall) != name.startswith("trap-"):
                raise ValueError(
                    f"{self.name}: variant {name!r}: a name begins with trap- if and only if the "
                    "variant is a pitfall"
                )
            if bool(variant.part) != name.startswith("part-") or variant.part not in ("", *PARTS):
                raise ValueError(
                    f"{self.name}: variant {name!r}: a name begins with part- if and only if the "
                    f"variant is a part of a step, and a part is one of {', '.join(PARTS)}"
                )
            form = variant.reduced
            if form and not (form in FORMATS and name.startswith(form)):
                raise ValueError(
                    f"{self.name}: variant {name!r} computes in {form!r}: the name begins with "
                    f"that of the format, one of {', '.join(FORMATS)}"
                )
            of_state = [d.component for d in variant.deviations if d.component.startswith("state.")]
            if twice := sorted({one for one in of_state if of_state.count(one) > 1}):
                raise ValueError(
                    f"{self.name}: variant {name!r} has several deviations of {twice[0]}; a tensor "
                    "deviates in one way"
                )
            other = variant.compared_with
            if variant.change and other not in self.variants:
                raise ValueError(
                    f"{self.name}: variant {name!r} changes {other!r}, which is missing"
                )
            if not (variant.ranked or self.variants.get(other, variant).ranked):
                raise ValueError(
                    f"{self.name}: variant {name!r} is compared with {other!r}, which is missing "
                    "or is no ranked variant itself"
                )
