"""The schema of what is measured: contests and certificates, checked on writing and reading.

One contest leaves `<replicate>.parquet`, a row per mini-batch in the columns of `BATCHES`, and
`<replicate>.json`, a `ContestFile` with a `ContestRecord` for each of its workloads. A certificate
is a `CertificateRecord`. machine_records.py gathers all records of a machine.
"""

import math
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from frameworks.device import HOST
from workflows.records.kinds import Around
from workflows.records.limits import (
    TEXT,
    TICK_NS,
    Amount,
    ContenderName,
    Count,
    DeviceName,
    Difference,
    Distance,
    FrameworkName,
    GroupName,
    LoaderName,
    MachineName,
    Moment,
    Number,
    Replicate,
    RunsName,
    Seconds,
    Steps,
    Study,
    Threads,
    VariantName,
    WorkloadName,
    bounded,
    hasty,
)
from workflows.records.thresholds import DECLARED_STEPS, FLOAT32_LOSS

SCHEMA = 4
NOOP = "noop"  # the framework that computes nothing: the harness's own cost
MACHINE = "machine"  # the machine's own speed
# Frameworks that take turns but are never compared nor certified, by the key that adds each.
UNCOMPARED = {NOOP: "noop", MACHINE: "machine_speed"}
FASTEST = "fastest"  # what ratios refer to, if to no framework

Status = Literal["ok", "missing", "failed"]
CacheState = Literal["off", "cold", "warm"]
Agreement = Literal["agrees", "declared", "refused", "missing", "failed"]
Version = Annotated[int, Field(ge=1, le=SCHEMA)]  # of the schema
Setting = str | int | float | bool
# The title of a format of frameworks/formats.py, perhaps with the setting that names it.
Reduced = Annotated[str, Field(pattern=r"^((bfloat16|TF32)( \(.*\))?)?$")]
Settings = Annotated[dict[str, Setting], AfterValidator(bounded)]


class Record(BaseModel):
    """A checked record. `local` records stay on their machine, and keep paths and names."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants", str_max_length=TEXT)
    local: ClassVar[bool] = False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Checks stop at the first fault of a list or an object. Otherwise, the descriptions of all
        faults would take more memory than the values."""
        return hasty(handler(source))


class Contender(Record):
    """A framework's variant on one device with one number of threads."""

    framework: FrameworkName
    variant: VariantName
    device: DeviceName
    threads: Threads

    @property
    def name(self) -> str:
        return f"{self.framework}/{self.variant}/{self.device}/{self.threads}"

    @property
    def on_host(self) -> bool:
        return self.device == HOST.name

    def identity(self) -> dict[str, Any]:
        """What its name is made of, for another record of the same contender."""
        return self.model_dump(include=set(Contender.model_fields))


def percentage(share: float) -> str:
    return f"{100 * share:g}%"


class Entrant(Contender):
    """A contender, or a control, which `runs` a contender's variant a second time, in a process of
    all its controls. Its own `variant` says what for (`tuned+twin`, `tuned+10%`,
    `tuned+threads-1`): its mini-batches are longer by `slowed_by`, a share of their time, or a
    `loader` prepares them.
    """

    runs: RunsName = ""
    slowed_by: Amount = 0.0
    loader: LoaderName = ""

    @property
    def built(self) -> str:
        """The variant that the framework is asked for."""
        return self.runs or self.variant


class ContenderRecord(Entrant):
    """The result of one contender in one contest.

    `cores` are the cores that its process was pinned to. `build_s` is the time to build the
    network, once, before its first mini-batch of the workload. `took_s` is the time that the
    contest spent on it: its turns, reading its weights, and its part of the common start by
    processor time, shared equally by the workloads of the contest. `import_s`, the same for all of
    them, is the time to import the framework and apply the conditions, if the process imported
    alone. `idle_mib` is its memory then. `weights` are a few numbers of each tensor after a drawn
    turn, in the first two replicates (`Float64Turns`). `late_s` is by how much reading all weights
    after a turn took longer than reading them again, in the median of the turns of these
    replicates. `operations` are seconds of a step under its framework's profiler
    (frameworks/operations.py), if asked for; `unprofiled` says why there are none. `stated` names
    settings that nothing has read back. `caches` says what compilers' caches held before the
    import. In earlier records, a control busy-waited for the share `idle` of its time.
    """

    status: Status
    reason: str = ""
    versions: dict[str, str] = {}
    settings: Settings = {}
    stated: list[str] = []
    caches: dict[str, CacheState] = {}
    cores: list[Count] = []
    build_s: Seconds | None = None
    import_s: Seconds | None = None
    idle_mib: Amount | None = None
    took_s: Seconds | None = None
    operations: dict[str, Seconds] = {}
    unprofiled: str = ""
    weights: dict[str, list[Number]] = {}
    late_s: Difference | None = None
    idle: Amount = 0.0


class TurnRecord(Record):
    """One contender's turn and the interference during it. Values that cannot be read are None.

    `duration_s` includes building or restoring the network. `cpu_s` is the time that the worker's
    threads ran, and `waited_s` the time that they waited for a core, both summed over threads.
    `steal_s` is the time that the host took from the worker's cores. `other_s` is the time that
    other processes ran on these cores, and `elsewhere_s` the time that any process ran on the
    other cores. These three times are counted in ticks of 10 ms. `pressure_s` is the time in
    which any process waited for a core. `switches` counts involuntary context switches during
    mini-batches. `mhz` is the mean frequency of its cores at the end, and `throttles` counts how
    often heat slowed them. Page faults are the process's per counted mini-batch; a minor one costs
    the kernel time, a major one waits for a disk. `peak_mib` is its most memory at one time, with
    all workloads of the contest. `outside_s` is its processor time outside its timed mini-batches
    since its turn before, without restoring the network. `package_j` and `gpu_j` are the joules of
    all processor packages and of all GPUs.
    """

    round: Count  # 0: warm-up before the rounds
    position: Count
    contender: ContenderName
    start_ns: Count  # Unix time
    cores: Count  # that it was pinned to
    duration_s: Seconds
    switches: Count
    cpu_s: Difference | None = None
    waited_s: Difference | None = None
    steal_s: Difference | None = None
    other_s: Difference | None = None
    elsewhere_s: Difference | None = None
    pressure_s: Difference | None = None
    mhz: Amount | None = None
    throttles: Count | None = None
    minor_faults: Amount | None = None
    major_faults: Amount | None = None
    peak_mib: Amount | None = None
    outside_s: Amount | None = None
    package_j: Amount | None = None
    gpu_j: Amount | None = None

    @property
    def most_cpu_ns(self) -> float:
        """The processor time that its mini-batches may have: twice that of the turn on all cores.
        What was taken by threads that have ended since does not count as the worker's."""
        found = (self.cpu_s, self.other_s, self.elsewhere_s, self.steal_s)
        counted = sum(max(one, 0.0) if one is not None else math.inf for one in found)
        return 2e9 * counted + TICK_NS


class Code(Record):
    """The version of samestep, the clone's commit ("" outside a clone), and whether it differs."""

    version: str
    commit: str
    dirty: bool


class ContestRecord(Record):
    """All contenders' turns on one workload, in one replicate, on one machine.

    The workloads of a `group` share the contest, its processes and its seed. `duration_s` is the
    workload's share of the time: its own turns, and an equal part of what all share. `place` is
    the workload's place in the warm-up, from 0. What a process does only once falls on the first.
    """

    schema_version: Version = SCHEMA
    study: Study
    machine: MachineName
    workload: WorkloadName
    group: GroupName = ""  # workloads joined with +; "" in records of before, of one workload each
    place: Count = 0
    replicate: Replicate
    started: Moment  # ISO 8601, UTC
    duration_s: Seconds
    seed: Count
    order: list[list[ContenderName]]  # contenders of each round in the order they ran
    code: Code
    configuration: str  # hash of the keys that can change what a contest measures
    system_info: Around
    contenders: list[ContenderRecord]
    turns: list[TurnRecord] = []  # in the order in which they ran


class Measured(Record):
    """The relative distances between two runs of the same steps: of the `loss` of every step, and
    of each tensor (L2) by the step after which it was taken (0: before the first). If the runs were
    too far apart, `attainable` is the same of plain NumPy in float32 beside its own in float64, and
    steps and tensors of which rounding leaves no digit are left out."""

    loss: list[Distance]
    weights: dict[int, dict[str, Distance]]
    attainable: "Measured | None" = None

    def beginning(self, steps: int) -> Self:
        """Its first losses, and the weights before them."""
        weights = {step: own for step, own in self.weights.items() if step < steps}
        return self.model_copy(update={"loss": self.loss[:steps], "weights": weights})

    @property
    def worst_loss(self) -> float:
        return max(self.loss, default=0.0)

    @property
    def worst_weights(self) -> float:
        return max((max(own.values(), default=0.0) for own in self.weights.values()), default=0.0)


class Float64Turns(Record):
    """The turns of a contest in float64, at full size and without timing.

    `losses` has the loss of every step by round, from the warm-up on; in earlier records, of the
    first thousand steps of a turn. `start` and `weights`: some numbers of every tensor, before and
    after the turn of round `read`; of the last round in earlier records.
    """

    read: int | None = None
    losses: list[list[Number]]
    start: dict[str, list[Number]]
    weights: dict[str, list[Number]]

    @property
    def round(self) -> int:
        """The round after whose turn the weights are known."""
        return len(self.losses) - 1 if self.read is None else self.read

    @property
    def steps(self) -> int:
        """How many steps of that turn are here."""
        return len(self.losses[self.round]) if self.losses else 0


class OptimiserRow(Record):
    """The long run with another optimiser than the workload's."""

    status: Agreement
    reason: str = ""
    run: Measured | None = None


class CertificateRow(Contender):
    """Whether one contender computes what the reference computes, in float64.

    `long` compares `steps` steps of the (perhaps narrower) workload, `full` a few at full size.
    `substituted` and `substituted_full` are the same two runs with the deviating part replaced by
    plain SGD. `followed` and `followed_full` compare the first two with those of plain NumPy, which
    makes the declared mistakes. `optimisers` are the long run with the other optimisers, by kind.

    `gradients` are the relative L2 distances of the first step's gradients at full size, in
    float64. `rounding` compares its float32 gradients, under the timed conditions, with the
    reference's float64. If the first mini-batch is too far off, it is the median of three, and
    `attainable` is how far plain NumPy's float32 gradients are from its own in float64.
    `attainable_first` is that of the first mini-batch, if `gradients` are too far off.
    `float32` compares the losses of its first steps with its own in float64. `state` is how far
    state that is declared to deviate was off at most. All are tensor by tensor, but for losses.

    `astray` says, for the weights after some of these float32 steps, how far they are from its own
    in float64 (`frameworks.workloads.distance.Astray`). If these or `float32` are too far off,
    `astray_attainable` and `float32_attainable` have the same of plain NumPy. `again` compares the
    losses of these steps with the same float32 steps after `restart`; `restarted` does so in
    float64. `reduced` names the reduced precision that it computes in, if any. `room` is how far
    that may be from float64: the median gradient and the first loss, then any gradient or loss.
    `unfenced` is the share of a step's work that was unfinished when `synchronise` returned.
    `unread`, of a variant that never waits, is whether a hundred steps that nobody waits for end
    with the same loss and weights, to the last bit, as if each was waited for. `timed` is what its
    variant declares to be in its times besides a step. `cause` is the diagnosis of a refusal.
    `at_first` is what was wrong in a process that other variants had used, if it was tried again in
    one of its own. `turns` are its own, if it declares a deviation and has the fewest threads.
    `quarters`, of two workers, is how far the mean of their gradients of both halves of a
    mini-batch is from the whole's, at most. Of a part of a step, `full` and `turns` are about
    losses at the initial weights. `ulp` is how far a single operation is from NumPy's, in units in
    the last place.
    """

    status: Agreement
    reason: str = ""
    cause: str = ""
    at_first: str = ""
    precision: Literal["float64", "float32"] = "float64"  # float32: it has none, says `reason`
    versions: dict[str, str] = {}
    long: Measured | None = None
    full: Measured | None = None
    substituted: Measured | None = None
    substituted_full: Measured | None = None
    followed: Measured | None = None
    followed_full: Measured | None = None
    optimisers: dict[str, OptimiserRow] = {}
    gradients: dict[str, Distance] = {}
    state: dict[str, Distance] = {}
    rounding: dict[str, Distance] = {}
    attainable: dict[str, Distance] = {}
    attainable_first: dict[str, Distance] = {}
    reduced: Reduced = ""
    room: tuple[Amount, Amount] | None = None
    restarted: list[Distance] = []
    float32: list[Distance] = []
    astray: dict[int, dict[str, tuple[Distance, Distance]]] = {}
    float32_attainable: list[Distance] = []
    astray_attainable: dict[int, dict[str, tuple[Distance, Distance]]] = {}
    again: list[Distance] = []
    unfenced: Amount | None = None
    unread: bool | None = None
    quarters: Distance | None = None
    ulp: Distance | None = None
    timed: str = ""
    losses: list[float] = []  # float64, of the long run
    turns: Float64Turns | None = None

    @property
    def compared(self) -> int | None:
        """In how many steps the long run was compared, if rounding hides the others."""
        steps = len(self.long.loss) if self.long else 0
        return steps if 0 < steps < len(self.losses) else None


def steps_compared(rows: Iterable[CertificateRow]) -> str:
    """` in 17 of 500 steps` if rounding hides the others, else ""."""
    fewest = min(((row.compared, len(row.losses)) for row in rows if row.compared), default=None)
    return " in {} of {} steps".format(*fewest) if fewest else ""


class CertificateRecord(Record):
    """One framework's certificates on one workload, and the limits that they were judged by.

    A declared deviation is bounded over the first `declared_steps` steps. `rounding` is how far
    float32 gradients may be from float64's, and `float32_loss` how far the first losses. `turns`
    are the reference's.
    """

    schema_version: Version = SCHEMA
    study: Study
    machine: MachineName
    workload: WorkloadName
    framework: FrameworkName
    reference: ContenderName  # contender compared with
    tolerance: Amount
    rounding: Amount  # relative, unless a reduced precision explains more
    float32_loss: Amount = FLOAT32_LOSS
    declared_steps: Steps = DECLARED_STEPS
    steps: Steps
    full_steps: Steps
    narrowed: bool
    parameters: Count
    parameters_long: Count
    turns: Float64Turns | None = None
    rows: list[CertificateRow]
