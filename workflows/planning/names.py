"""Names for people, in the lines that a study prints."""

from collections.abc import Iterable, Sequence

from frameworks.device import DEVICES
from frameworks.registry import framework
from frameworks.workloads import TITLES
from workflows.records.schema import Contender


def workload(name: str) -> str:
    """`MNIST CNN`; a workload of the user's own by its own name."""
    return TITLES.get(name, name)


def contender(one: Contender) -> str:
    """`PyTorch tuned, 2 threads`, `JAX default on GPU`"""
    return f"{framework(one.framework).title} {one.variant}{place(one)}"


def place(one: Contender) -> str:
    """`, 2 threads` or ` on GPU`, because only the processor's contenders differ by threads."""
    if one.on_host:
        return f", {counted(one.threads, 'thread')}"
    return f" on {DEVICES[one.device].title}"


def several(some: Sequence[Contender]) -> str:
    """Contenders of one framework: `default and tuned, 1 and 2 threads`."""
    variants = listing(one.variant for one in some)
    hosts = [one for one in some if one.on_host]
    places = [threads({one.threads for one in hosts})] if hosts else []
    places += [DEVICES[name].title for name in dict.fromkeys(one.device for one in some)
               if not DEVICES[name].is_host]  # fmt: skip
    return f"{variants}, {listing(places)}"


def threads(numbers: Iterable[int]) -> str:
    """`1 thread`, `1 and 2 threads`"""
    found = sorted(numbers)
    return f"{listing(found)} thread" + "s" * (found != [1])


def listing(items: Iterable[object]) -> str:
    """`a`, `a and b`, `a, b and c`; each once."""
    words = list(dict.fromkeys(map(str, items)))
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)
