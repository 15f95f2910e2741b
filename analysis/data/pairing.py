"""Against whom each contender is held: the same variant of the reference framework, or its
`default` where no other framework of the study has the variant."""

from collections.abc import Iterable

from analysis.data.results import BenchmarkId, Machine

DEFAULT = "default"


def pairs(
    machine: Machine, seats: Iterable[BenchmarkId], references: dict[str, str]
) -> dict[BenchmarkId, BenchmarkId]:
    """The other side of each seat that is held against one; `references` has the framework that
    ratios refer to, by workload. Variants with a trap, and controls, are nobody's."""
    matched = dict.fromkeys(seat for seat in seats if not machine.apart(seat))
    owners: dict[str, set[str]] = {}
    for seat in matched:
        owners.setdefault(seat.variant, set()).add(seat.framework)
    found = {}
    for seat in matched:
        alone = owners[seat.variant] == {seat.framework}
        base = seat._replace(
            framework=references[seat.workload], variant=DEFAULT if alone else seat.variant
        )
        own = base.framework == seat.framework
        if base != seat and (not own or (alone and base in matched)):
            found[seat] = base
    return found
