"""Names and numbers for sentences: two digits, speed first, no configuration keys."""

from collections.abc import Iterable
from types import MappingProxyType

from analysis.data.results import DEFAULT, BenchmarkId, Column
from analysis.format import alike, count, crossed, device, percent, title
from frameworks.workloads import TITLES

WORKLOADS = MappingProxyType(TITLES)
VARIANTS = MappingProxyType(
    {
        "default": "as in the tutorials", "tuned": "tuned", "compile": "compiled",
        "xla": "with XLA", "bfloat16": "in bfloat16", "tf32": "in TF32",
        "two-workers": "with two workers",
    }
)  # fmt: skip
DECLARED = "†"  # marks whatever rests on a declared deviation, in sentences, figures and tables
CROSSED = "~"  # marks a comparison whose direction changed between studies
NEAR = 1.25  # below it, prose has percent
METHOD = "../../docs/method.md"  # from a report's folder, reports/<study>


def workload(name: str) -> str:
    """`MNIST CNN`; a workload of the user by its name."""
    return WORKLOADS.get(name, name)


def size(number: float) -> str:
    """Two digits and a letter: `11 M`, `93 k`, `640`."""
    for scale, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= scale:
            return f"{two(number / scale)}{letter}"
    return two(number)


def variant(name: str) -> str:
    """`as in the tutorials`; a variant without words for it by its name."""
    return VARIANTS.get(name, name)


def two(value: float) -> str:
    """Two significant digits, without an exponent: `1.9`, `0.94`, `150`, `3,300`."""
    rounded = float(f"{value:.2g}")
    if rounded >= 10:
        return f"{rounded:,.0f}"
    return f"{rounded:.1f}" if rounded >= 1 else f"{rounded:.2g}"


def as_long(ratio: float) -> str:
    """How much longer the slower side takes, for a ratio of 1 or more: `takes 1.9 times as long`,
    or `takes 6 % longer` if it is near 1."""
    if ratio < NEAR:
        return f"takes {percent(float(f'{ratio - 1:.2g}'))} longer"
    return f"takes {two(ratio)} times as long"


def spread(low: float, high: float) -> str:
    """`1.7 to 1.9`, or `1.9` if both read alike."""
    return " to ".join(dict.fromkeys((two(low), two(high))))


def milliseconds(value: float) -> str:
    """`153 ms`, `43.7 ms`: three digits, as in tables."""
    return f"{alike(value)[0]} ms"


def share(value: float) -> str:
    """`3.6 %`, `28 %`: two digits of a share."""
    return percent(float(f"{value:.2g}"))


def contender(one: BenchmarkId) -> str:
    """`PyTorch, tuned`; as in the tutorials, the framework's name alone."""
    return title(one.framework) + f", {variant(one.variant)}" * (one.variant != DEFAULT)


def subject(one: BenchmarkId) -> str:
    """`PyTorch, tuned,` before a verb; `PyTorch`."""
    return contender(one) + "," * (one.variant != DEFAULT)


def place(one: BenchmarkId) -> str:
    """`MLP, 1 thread`, with the device if it is not the processor."""
    return f"{workload(one.workload)}, {condition(one)}"


def places(found: Iterable[BenchmarkId]) -> str:
    """Many contenders in few words: `MLP and MNIST CNN, TensorFlow, tuned, 1 and 2 threads`."""
    found = list(found)
    devices = any(elsewhere(one) for one in found)
    return crossed(
        [
            (workload(one.workload), title(one.framework), variant(one.variant),
             *[device(one.device)] * devices, one.threads)
            for one in found
        ]
    )  # fmt: skip


def condition(one: BenchmarkId | Column) -> str:
    """`2 threads`, `GPU, 16 threads`"""
    return ", ".join([*elsewhere(one), count(one.threads, "thread")])


def elsewhere(one: BenchmarkId | Column) -> list[str]:
    """The device, if it is not the processor."""
    return [] if one.on_host else [device(one.device)]


def pair(one: BenchmarkId, base: BenchmarkId) -> str:
    """`JAX to PyTorch, tuned`; each side with its variant if they differ."""
    if one.variant == base.variant:
        return f"{title(one.framework)} to {contender(base)}"
    return f"{subject(one)} to {contender(base)}"


def more(anchor: str) -> str:
    """A link to a part of the method's page, in rich text."""
    return f"[More]({METHOD}#{anchor})"
