"""Whether gradients of parts of a mini-batch, averaged, are those of the whole."""

from dataclasses import dataclass
from typing import ClassVar

from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.certificate_steps import certified


@dataclass(frozen=True)
class ShardLine:
    """A row of shards.csv: the mean of the gradients of `shards` equal parts of a mini-batch.
    `distance` is its relative L2 distance from the reference's gradient of the whole in float64,
    the largest of all tensors. Two workers share the mini-batch (two shards), or first one half of
    it and then the other (four)."""

    COLUMNS: ClassVar = "machine workload framework variant device threads shards distance dataset"

    id: BenchmarkId
    shards: int
    distance: float


def shard_lines(machine: Machine) -> list[ShardLine]:
    """Of two workers, in studies whose certificates tried four shards."""
    return [
        ShardLine(one, shards, distance)
        for one, _, row in certified(machine)
        if row.quarters is not None
        for shards, distance in ((2, max(row.gradients.values())), (4, row.quarters))
    ]
