"""Chooses which benchmarks are compared: each with the same variant of the reference framework, or
with its `default` if the reference framework lacks the variant or is the only one that has it. All
pairs that share contests and differ in one thing are compared, too, without new measurements."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from analysis.data.results import DEFAULT, BenchmarkId, Machine

FIELDS = ("variant", "threads", "device", "framework", "workload")
BOTH = "contender"  # pairs that differ in framework and variant
AXES = (*FIELDS, BOTH)  # the order of pairs


def pairs(
    machine: Machine, benchmarks: Iterable[BenchmarkId], reference: Callable[[BenchmarkId], str]
) -> dict[BenchmarkId, BenchmarkId]:
    """The benchmark that each benchmark is compared with. `reference` names the reference framework
    under the conditions of a benchmark. A variant that only the reference framework has is compared
    with its own `default`. Only benchmarks that `Machine.compares` are included."""
    matched = dict.fromkeys(one for one in benchmarks if machine.compares(one))
    owners: dict[str, set[str]] = {}
    for one in matched:
        owners.setdefault(one.variant, set()).add(one.framework)
    found = {}
    for one in matched:
        alone = owners[one.variant] == {one.framework}
        base, default = one._replace(framework=reference(one)), one._replace(variant=DEFAULT)
        default = default._replace(framework=reference(default))
        if alone or (base not in matched and default in matched):
            base = default
        own = base.framework == one.framework
        if base != one and (not own or base in matched):
            found[one] = base
    return found


def neighbours(
    machine: Machine, benchmarks: list[BenchmarkId]
) -> Iterator[tuple[str, BenchmarkId, BenchmarkId]]:
    """Each pair of benchmarks that share contests and differ in one thing, or in framework and
    variant: what they differ in, the benchmark, and its base."""
    groups = {contest.workload: contest.group for contest in machine.records.contests}
    found = []
    for base, one in combinations(sorted(benchmarks, key=machine.order), 2):
        differ = [part for part in FIELDS if getattr(one, part) != getattr(base, part)]
        if differ == ["variant", "framework"]:
            differ = [BOTH]
        if len(differ) > 1:
            continue
        if one.workload == base.workload or groups[one.workload] == groups[base.workload] != "":
            found.append((differ[0], one, base))
    yield from sorted(found, key=lambda pair: AXES.index(pair[0]))
