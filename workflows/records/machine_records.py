"""The schema of all records of one machine in a study.

`collect` gathers them: `batches.parquet`, `turns.parquet` in the columns of `TURNS`, and
`records.json.zst`, a `MachineRecords` without the turns.
"""

from typing import Annotated, Literal

from pydantic import Field

from frameworks.description import Part
from frameworks.workloads.datasets.batches import Kind
from workflows.records.kinds import Asked
from workflows.records.limits import (
    REPLICATES,
    Anything,
    Confidence,
    Count,
    FrameworkName,
    MachineName,
    Share,
    Study,
    VariantName,
    WorkloadName,
)
from workflows.records.schema import (
    SCHEMA,
    CertificateRecord,
    Contender,
    ContestRecord,
    Record,
    Version,
)

Format = Literal["bfloat16", "tf32"]  # the names in frameworks/formats.py


class DatasetRecord(Record):
    """Where a workload's mini-batches came from."""

    workload: WorkloadName
    source: str  # one sentence for people
    kind: Kind
    samples: Count
    batches: Count
    seed: Count
    sha256: str  # of inputs and targets as stored


class MissingRow(Contender):
    """A contender that could not run at all, and why."""

    reason: str


class PitfallRow(Record):
    """A variant with a pitfall, and `beside` it the same framework's variant without."""

    framework: FrameworkName
    variant: VariantName
    pitfall: str
    beside: VariantName


class ChangeRow(Record):
    """A variant with one `change` to the variant `beside` it, of the same framework: a step from
    `default` to `tuned`."""

    framework: FrameworkName
    variant: VariantName
    change: str
    beside: VariantName


class PartRow(ChangeRow):
    """A part of a step, and `beside` it the whole step."""

    change: Part


class ReducedRow(ChangeRow):
    """A variant that computes in a format, and `beside` it the same in float32."""

    change: Format


class WorkloadRecord(Record):
    """A workload and what follows from it."""

    name: WorkloadName
    description: Anything
    parameters: Count
    flops_per_step: Count
    bytes_per_step: Count


class StudyRecord(Record):
    """What was asked for."""

    name: Study
    title: str
    smoke: bool
    reference: FrameworkName  # framework that certificates refer to
    fastest: bool = False  # ratios refer to the fastest contender, not to the reference
    replicates: Annotated[int, Field(ge=0, le=REPLICATES)]
    margin: Share
    confidence: Confidence
    command: str
    configuration: Asked
    target_precision: Share = 0.03  # half-width asked of every ratio's interval, relative
    fixed: str = ""  # how the number of replicates was fixed, if the configuration has `minutes`
    titles: dict[str, str] = {}  # of frameworks, as people write them
    left_out: dict[str, list[str]] = {}  # variants by framework that are there and not asked for


class MachineRecords(Record):
    """All records of one machine in one study, except the mini-batches."""

    schema_version: Version = SCHEMA
    machine: MachineName
    study: StudyRecord
    workloads: list[WorkloadRecord]
    datasets: list[DatasetRecord]
    missing: list[MissingRow]
    pitfalls: list[PitfallRow] = []
    changes: list[ChangeRow] = []
    parts: list[PartRow] = []
    reduced: list[ReducedRow] = []
    certificates: list[CertificateRecord]
    contests: list[ContestRecord]

    @property
    def trained(self) -> list[str]:
        """The workloads that are networks. All others are single operations."""
        return [one.name for one in self.workloads if one.parameters]
