"""Whether averaged gradients of shards are those of the whole, if the study has two workers."""

from analysis.data.results import grouped
from analysis.format import scientific, title
from analysis.report.layout import Blocks, Chapter, Section
from analysis.report.prose import workload
from analysis.report.tables import Table


def shards(chapter: Chapter) -> Blocks:
    rows = grouped((row.id, row.distance) for row in chapter.findings.shards)
    if not rows:
        return []
    return [
        Table(
            "How far averaged gradients of shards are from those of the whole mini-batch",
            [("on", False), ("framework", False), ("two shards", True), ("four shards", True)],
            [
                [workload(one.workload), title(one.framework), *map(scientific, distances)]
                for one, distances in rows.items()
            ],
            "shards.csv",
        )
    ]


SECTION = Section(
    "Gradients of shards",
    shards,
    about="Two workers share a mini-batch and average their gradients: two shards. Of four shards "
    "they have shared first one half and then the other. The relative distance in float64 from the "
    "reference's gradient of the whole mini-batch, the largest of all tensors. Batch normalisation "
    "of a shard takes the shard's own mean and variance.",
    in_markdown=True,
)
