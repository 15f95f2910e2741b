"""A framework as seen from outside: its name, its variants, and where its adapter is."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Deviation:
    """Something a variant is known not to compute as the workload says.

    `component` is the optimiser that deviates (`optimiser.adam`): layers and losses must agree.
    The certificate measures the
    size, demands that it stays within `loss_within` (relative, over the first ten steps),
    and demands full agreement once that part is replaced by plain SGD. Where `mistake` names
    one of `frameworks.oracle.mistakes`, a miniature must train exactly as that one does.
    """

    component: str
    reason: str
    loss_within: float
    mistake: str = ""


@dataclass(frozen=True)
class Variant:
    """One way to write the workload in a framework.

    `rebuilds`: building afresh costs about one step, so the harness may do it at every turn.
    False where it traces or compiles; the harness then restores the weights instead.

    `trap`: what the variant falls into, in a few words for the figure's label. Such a variant
    is named `trap-...`, is run only where a study lists it, has no obligation to agree, and
    is only ever held against `beside`, a variant of the same framework that avoids it.

    `environment`: set before the import, over the framework's own; such a variant never shares
    a process with another that wants something else. `timed`: what its time has in it besides
    a step, where that is not what all others are timed over, for the report to say.
    """

    summary: str
    rebuilds: bool = True
    deviations: tuple[Deviation, ...] = ()
    trap: str = ""
    beside: str = "default"
    environment: Mapping[str, str] = field(default_factory=dict)
    timed: str = ""


@dataclass(frozen=True)
class Framework:
    """A framework as seen from outside; nothing here needs it installed."""

    name: str
    title: str
    distributions: tuple[str, ...]  # any of them, as pip names it, means installed
    install: str
    adapter: str  # "module:Class"
    variants: Mapping[str, Variant]
    devices: tuple[str, ...] = ("cpu", "gpu")
    companions: tuple[str, ...] = ()  # more distributions whose versions belong on record
    environment: Mapping[str, str] = field(default_factory=dict)  # set before the import
    # Without float64, which `Adapter.__init__` then refuses as Unavailable, a certificate
    # holds in float32 only, and says so.
    precisions: tuple[str, ...] = ("float32", "float64")
    # For `isolate: true`: a file of all that has to be installed, beside the adapter's module, with
    # the versions of everything in a .lock of the same name. "": the package itself and the first
    # of `distributions`, by name.
    requirements: str = ""

    def __post_init__(self) -> None:
        for name, variant in self.variants.items():
            if bool(variant.trap) != name.startswith("trap-"):
                raise ValueError(f"{self.name}: variant {name!r}: traps are named trap-..., all")
            if variant.trap and self.variants.get(variant.beside, variant).trap:
                raise ValueError(
                    f"{self.name}: variant {name!r} is beside {variant.beside!r}, which is "
                    "no variant without a trap"
                )
