"""Claims whose rule is no text of judging.py: what each asks of the rows of studies.

Those about the parts of a step are shares in `data/claims.csv`. A share of the update below 10 % is
a step of less than 1/0.9 of the time of loss and gradients. A share of the gradients in these below
50 % is loss and gradients in less than twice the time of the loss.
"""

from collections.abc import Collection, Mapping, Sequence

from analysis.format import listing
from analysis.literature.ledger.judging import Rule
from analysis.literature.studies import GRADIENTS, LOSS, PART, STEP, WORKERS, MeasuredRatio, Pair
from analysis.report.prose import workload

BACKWARD, UPDATE = Pair(PART, GRADIENTS, LOSS), Pair(PART, STEP, GRADIENTS)
ASKED: Mapping[str, Sequence[tuple[Pair, Rule]]] = {
    "C54": ((UPDATE, Rule("all rows", 1 / 0.9)), (BACKWARD, Rule("all rows", 1 / 0.5))),
    "C55": ((BACKWARD, Rule("all rows", 5.0)),),
    "C59": ((WORKERS, Rule("all rows", 1.03)),),
}
# What no table decides.
OPEN = {"C55": "(a) and (c) were not measured", "C59": "two GPUs were not measured"}


def lacking(claim: str, workloads: Collection[str], found: Sequence[MeasuredRatio]) -> list[str]:
    """What was not measured of such a claim; nothing of any other."""
    if claim not in ASKED:
        return []
    there = {row.workload for row in found}
    absent = [workload(name) for name in workloads if name not in there]
    parts = [f"not measured: {listing(absent)}"] if absent else []
    return [*parts, OPEN[claim]] if claim in OPEN else parts
