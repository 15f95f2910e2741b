"""The number of replicates of a study that has a limit in `minutes`."""

from workflows.records.schema import SCHEMA, Record


class ReplicatesRecord(Record):
    """`replicates.json`: how many replicates fit in the `minutes` of a study.

    `most` is the study's `replicates`, and `key` identifies what its contests measure. Seconds were
    spent `before` the contests, on the first contest of each group, and are allowed for what is
    `around` them; `total` is for the whole study.
    """

    schema_version: int = SCHEMA
    replicates: int
    minutes: float
    most: int | None
    key: str
    before_s: float
    contests_s: dict[str, float]
    around_s: float
    total_s: float
    sentence: str  # for people
