"""Ways to run a pair of processes: possible causes of differences between equal processes."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Way:
    """How a pair is run, and in what it differs from `turns`, the way of contests.

    `prefix` stands before the interpreter, `variables` in its environment. `rebuild` is what the
    worker's `turn` takes; None leaves it to the variant, which is the contender's own unless
    `variant` names another. `warmup` and `turn` are in mini-batches.
    """

    name: str
    summary: str
    prefix: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    kernel: Mapping[str, str] = field(default_factory=dict)  # files under /proc/sys
    padding: bool = False  # an environment of random size
    pinned: bool = True
    separate: bool = False  # pinned, each to a core of its own
    rebuild: bool | None = None
    variant: str | None = None
    warmup: int = 5
    rounds: int = 8
    turn: int = 6

    def environment(self, chance: random.Random) -> dict[str, str]:
        padding = {"SAMESTEP_PADDING": "x" * chance.randrange(4096)} if self.padding else {}
        return {**self.variables, **padding}


BASE = "turns"  # the others are compared with it
WAYS = {
    way.name: way
    for way in (
        Way("turns", "as in a contest, but 8 turns of 6: same core, rebuilt where that is cheap"),
        Way("unpinned", "not pinned", pinned=False),
        Way("cores-of-their-own", "each pinned to its own core", separate=True),
        Way("kept", "one model for all turns, its weights restored", rebuild=False),
        Way("rebuilt", "a new model at every turn, traced again", rebuild=True),
        Way("untouched", "one model, trained on from turn to turn", rounds=8),
        Way("huge-pages", "glibc takes huge pages for the allocator",
            variables={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
        Way("freed-kept", "glibc gives no freed memory back, whatever the variant",
            variables={"MALLOC_TRIM_THRESHOLD_": "8589934592", "MALLOC_MMAP_MAX_": "0"}),
        Way("same-addresses", "address-space randomisation off", prefix=("setarch", "-R")),
        Way("any-environment", "an environment of random size", padding=True),
        Way("same-hashes", "Python's hashes not randomised", variables={"PYTHONHASHSEED": "0"}),
        Way("passive", "idle OpenMP threads sleep at once",
            variables={"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}),
        Way("bound", "OpenMP binds each of its threads to a core of its own", pinned=False,
            variables={"OMP_PROC_BIND": "true", "OMP_PLACES": "threads"}),
        Way("short-lists", "cores keep few free pages to themselves (needs root)",
            kernel={"vm/percpu_pagelist_high_fraction": "1000"}),
        Way("flushed", "denormals flushed to zero (PyTorch)", variant="trap-denormals"),
        Way("high-priority", "nice -n -20 (needs root)", prefix=("nice", "-n", "-20")),
        Way("long-turns", "4 turns of 12", rounds=4, turn=12),
        Way("short-turns", "16 turns of 3", rounds=16, turn=3),
        Way("more-turns", "16 turns of 6: twice the time", rounds=16),
        Way("one-turn", "one after the other, 48 mini-batches each", rounds=1, turn=48),
    )
}  # fmt: skip
