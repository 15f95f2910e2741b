"""The other side of each comparison: the same variant of the reference framework, or its
`default` if no other framework of the study has the variant."""

from collections.abc import Iterable

from analysis.data.results import BenchmarkId, Machine

DEFAULT = "default"


def pairs(
    machine: Machine, benchmarks: Iterable[BenchmarkId], references: dict[str, str]
) -> dict[BenchmarkId, BenchmarkId]:
    """The benchmark that each benchmark is compared with. `references` has the reference framework
    of each workload. Pitfall variants and controls have no pair."""
    matched = dict.fromkeys(one for one in benchmarks if machine.compares(one))
    owners: dict[str, set[str]] = {}
    for one in matched:
        owners.setdefault(one.variant, set()).add(one.framework)
    found = {}
    for one in matched:
        alone = owners[one.variant] == {one.framework}
        base = one._replace(
            framework=references[one.workload], variant=DEFAULT if alone else one.variant
        )
        own = base.framework == one.framework
        if base != one and (not own or (alone and base in matched)):
            found[one] = base
    return found
