"""The study's configuration: what may be written in `config/*.yaml`."""

from collections import Counter
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from frameworks.device import DEVICES
from frameworks.registry import framework
from frameworks.workloads import TITLES, Workload, WorkloadError, load, narrowed
from frameworks.workloads.datasets.pixels import as_pixels
from frameworks.workloads.sweeps import members
from workflows.planning.entries import (
    CertificateEntry,
    ContenderEntry,
    ContestEntry,
    ControlsEntry,
    Device,
    Interpreters,
    MachineEntry,
    MnistEntry,
    Scope,
    Section,
    Threads,
)
from workflows.planning.possible import (
    CONTENDERS,
    LISTED,
    LONGEST,
    NAME,
    buildable,
    few,
    one_line,
    without_repeats,
)
from workflows.records.limits import LOADER, confused
from workflows.records.schema import FASTEST, UNCOMPARED

MOST = 1000  # replicates
OFTEN = ("default", "tuned")  # variants that a study may name although its frameworks have others


class Configuration(Section):
    """A whole study."""

    study: Annotated[str, Scope.CONCLUSIONS] = Field(pattern=NAME, max_length=60)
    title: Annotated[str, AfterValidator(one_line), Scope.CONCLUSIONS] = ""
    smoke: Annotated[bool, Scope.CONCLUSIONS] = False
    seed: int = Field(default=1, ge=0, lt=2**32)
    # As many replicates as fit in `minutes`, and `replicates` at most. One key may be missing.
    replicates: Annotated[int | None, Scope.CONCLUSIONS] = Field(default=None, ge=1, le=MOST)
    minutes: Annotated[float | None, Scope.CONCLUSIONS] = Field(default=None, gt=0, le=100_000)
    reference: Annotated[str, Scope.RESOLVED] = Field(
        description="The framework that ratios and certificates refer to, or `fastest`: ratios "
        "then refer to the fastest contender of each workload, device, thread count and variant, "
        "and certificates to the first framework of `contenders`."
    )
    contenders: Annotated[list[ContenderEntry], Scope.RESOLVED] = Field(
        min_length=1, max_length=LISTED
    )
    devices: Annotated[list[Device], AfterValidator(without_repeats), Scope.RESOLVED] = Field(
        default=list(DEVICES), min_length=1
    )
    threads: Annotated[list[Threads], AfterValidator(without_repeats), Scope.RESOLVED] = Field(
        default=[1, "all"], min_length=1
    )
    oversubscribe: Annotated[bool, Scope.RESOLVED] = Field(
        default=False,
        description="Contenders with more threads than cores run, too, up to four times as many.",
    )
    tf32: bool = False
    workloads: Annotated[
        dict[str, dict[str, Any] | None], AfterValidator(buildable), Scope.RESOLVED
    ] = Field(
        min_length=1  # `false` leaves one out
    )
    sweeps: Annotated[dict[str, dict[str, Any]], Scope.RESOLVED] = Field(
        default={},
        description="Workloads in several sizes, by the name of the sweep: like the entry of a "
        "workload, with `sizes`, lists of values by parameter. The workloads are named after the "
        "sweep and the first parameter's values.",
    )
    mnist: Annotated[MnistEntry, Scope.RESOLVED] = MnistEntry()
    contest: ContestEntry = ContestEntry()
    controls: ControlsEntry | None = ControlsEntry()  # `false` does without
    loaders: Annotated[
        list[Annotated[str, Field(pattern=LOADER)]], AfterValidator(without_repeats)
    ] = Field(
        default=[],
        description="Each contender once more with each of these, which prepare mini-batches from "
        "pixels during training: `inline`, `threads-1`, `processes-2`, and `framework-2`, the "
        "framework's own.",
    )
    noop: bool = True  # a framework that computes nothing takes turns too
    machine_speed: bool = True  # so does the machine's own speed: a product and a stream in NumPy
    profile: bool = False  # after the first contest, steps under each framework's own profiler
    certificate: Annotated[CertificateEntry, Scope.CERTIFICATES] = CertificateEntry()
    margin: Annotated[float, Scope.CONCLUSIONS] = Field(default=0.05, ge=1e-6, lt=1)
    confidence: Annotated[float, Scope.CONCLUSIONS] = Field(default=0.95, gt=0.5, le=0.9999)
    target_precision: Annotated[float, Scope.CONCLUSIONS] = Field(default=0.03, ge=1e-4, lt=1)
    interpreters: Annotated[Interpreters, Scope.RESOLVED] = {}
    isolate: Annotated[bool, Scope.RESOLVED] = Field(
        default=False,
        description="Build a virtual environment for each framework that has no interpreter in "
        "`interpreters`, from its requirements and lock, and run it there.",
    )
    machines: Annotated[
        dict[Annotated[str, Field(pattern=NAME, max_length=60)], MachineEntry], Scope.CONCLUSIONS
    ] = Field(default={}, max_length=LISTED)

    @model_validator(mode="before")
    @classmethod
    def swept(cls, values: Any) -> Any:
        """The workloads of sweeps join the others; `false` leaves one of them out, too."""
        sweeps, workloads = values.get("sweeps"), values.get("workloads")
        if not isinstance(sweeps, dict) or not isinstance(workloads, dict):
            return values
        sweeps = {str(name): entry for name, entry in sweeps.items() if entry is not False}
        added: dict[str, Any] = {}
        for name, entry in sweeps.items():
            try:
                added |= {own: member.entry for own, member in members(name, entry).items()}
                few(added)
            except ValueError as error:
                raise ValueError(f"sweeps.{name:.80}: {error}") from None
        for name in added:
            if workloads.get(name, added[name]) not in (added[name], False):
                raise ValueError(f"sweeps: {name!r:.80} is also among the workloads")
        return {
            **values,
            "sweeps": sweeps,
            "workloads": {**workloads, **added, **without(workloads)},
        }

    @field_validator("contenders", mode="before")
    @classmethod
    def versioned(cls, entries: Any) -> Any:
        if not isinstance(entries, list):
            return entries
        return [own for entry in entries for own in ContenderEntry.by_version(entry)]

    @field_validator("controls", mode="before")
    @classmethod
    def carried(cls, entry: Any) -> Any:
        return None if entry is False else entry

    @field_validator("minutes", mode="before")
    @classmethod
    def limited(cls, entry: Any) -> Any:
        return None if entry == "null" else entry  # as Snakemake reads `--config minutes=null`

    @field_validator("workloads", mode="before")
    @classmethod
    def wanted(cls, entries: Any) -> Any:
        if not isinstance(entries, dict):
            return entries
        return {name: entry for name, entry in entries.items() if name not in without(entries)}

    @model_validator(mode="after")
    def consistent(self) -> Self:
        if self.replicates is None and self.minutes is None:
            raise ValueError("replicates or minutes: one of these keys is needed")
        names = [entry.framework for entry in self.contenders]
        if self.reference not in (FASTEST, *names):
            raise ValueError(
                f"reference: {self.reference!r} is not among the contenders "
                f"(known: {FASTEST}, {', '.join(dict.fromkeys(names))})"
            )
        given = {"interpreters": self.interpreters}
        given |= {f"machines.{kind}.interpreters": entry.interpreters
                  for kind, entry in self.machines.items()}  # fmt: skip
        for key, interpreters in given.items():
            for name in sorted(interpreters.keys() - names):
                raise ValueError(f"{key}: {name!r} is not among the contenders")
        for group, own in self.groups.items():
            if len(group) > LONGEST:
                raise ValueError(
                    f"workloads: the joined names of the {len(own)} that share a contest name a "
                    f"folder and have {len(group)} characters ({LONGEST} at most): shorten the "
                    "names, or list smaller contests under contest.together"
                )
        grouped = [name for names in self.sharing for name in names]
        for name in grouped:
            if name not in self.workloads:
                raise ValueError(f"contest.together: {name!r} is not among the workloads")
            if grouped.count(name) > 1:
                raise ValueError(f"contest.together: {name!r} is listed twice")
        # In reports, and on disks that ignore case.
        for name, other in confused({name: TITLES.get(name, name) for name in self.workloads}):
            raise ValueError(
                f"workloads: {other} and {name} have the same name in a report: rename one"
            )
        for name in self.workloads if self.loaders else ():
            try:
                self.workload(name)
            except WorkloadError as error:
                raise ValueError(f"loaders: {error}") from None
        self.require_comparable()
        return self

    def require_comparable(self) -> None:
        """Raise ValueError if a contender is listed twice, or if a pitfall, a part of a step or a
        reduced precision is in the study without the variant it is compared with, under the same
        conditions."""
        number = sum(len(entry.variants) * len(entry.devices or self.devices)
                     * len(entry.threads or self.threads) for entry in self.contenders)  # fmt: skip
        if self.controls:
            number += len(self.controls.kinds) * (number if self.controls.of == "all" else 1)
        if number > CONTENDERS:
            raise ValueError(
                f"contenders: {number:,} with controls, at most {CONTENDERS:,} are possible"
            )
        listed = Counter(
            (entry.framework, variant, device, threads)
            for entry in self.contenders
            for variant in entry.variants
            for device in entry.devices or self.devices
            for threads in entry.threads or self.threads
        )
        for (name, variant, device, threads), times in listed.items():
            if times > 1:
                raise ValueError(
                    f"contenders: {name}'s {variant} on {device} with threads {threads} is listed "
                    "twice: keep it in one entry only"
                )
        # A report distinguishes frameworks by their titles alone.
        titles = {one.framework: framework(one.framework).title for one in self.contenders}
        for name, other in confused(titles):
            raise ValueError(
                f"contenders: {other} and {name} both have the title {titles[name]!r}: give one of "
                "them another title"
            )
        variants = {name: framework(name).variants for name, *_ in listed}
        known = {*OFTEN, *(one for own in variants.values() for one in own)}
        if self.controls and self.controls.variant not in known:
            raise ValueError(
                f"controls.variant: no contender has a variant {self.controls.variant!r}: "
                "`samestep list` names those that there are"
            )
        for name, variant, device, threads in sorted(listed, key=str):
            found = variants[name][variant]
            other = found.compared_with
            if not found.ranked and (name, other, device, threads) not in listed:
                raise ValueError(
                    f"contenders: {name}'s {variant} is compared with its {other!r} on "
                    f"{device} with threads {threads}, which is not in the study: add it to the "
                    f"variants of {name}"
                )

    @property
    def uncompared(self) -> list[str]:
        """The frameworks that take turns but are not compared."""
        return [name for name, key in UNCOMPARED.items() if getattr(self, key)]

    @property
    def groups(self) -> dict[str, list[str]]:
        """The workloads of each contest, by the name of their group: the names joined with +."""
        return {"+".join(names): names for names in self.sharing}

    @property
    def sharing(self) -> list[list[str]]:
        """The workloads of each contest."""
        listed = self.contest.together
        if isinstance(listed, bool):
            listed = [list(self.workloads)] if listed else []
        swept = {
            name: [own for own in members(name, entry) if own in self.workloads]
            for name, entry in self.sweeps.items()
            if name not in self.workloads
        }
        listed = [[own for name in names for own in swept.get(name, [name])] for names in listed]
        alone = [name for name in self.workloads if not any(name in names for names in listed)]
        return [*listed, *([name] for name in alone)]

    @property
    def reference_framework(self) -> str:
        """The framework that certificates and controls refer to."""
        return self.contenders[0].framework if self.reference == FASTEST else self.reference

    def workload(self, name: str) -> Workload:
        found = load(name, self.workloads[name])
        return as_pixels(found) if self.loaders else found

    def other_optimisers(self, name: str) -> list[str]:
        """The optimisers that certificates of this workload prove beside its own.

        They are those of `certificate.optimisers` that no workload trains with, if the certified
        steps of this workload cost least; else none.
        """
        every = {each: self.workload(each) for each in self.workloads}
        workloads = {each: own for each, own in every.items() if not own.elementwise}
        if name not in workloads:
            return []
        cheapest = min(workloads, key=lambda each: narrowed(workloads[each]).flops_per_step)
        used = {workload.optimiser.kind for workload in workloads.values()}
        return [k for k in self.certificate.optimisers if name == cheapest and k not in used]


def without(entries: dict[str, Any]) -> dict[str, bool]:
    """The workloads that are left out."""
    return {name: False for name, entry in entries.items() if entry is False}
