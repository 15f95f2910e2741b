"""Names and numbers as people read them."""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, product

TITLES = {"pytorch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX", "keras": "Keras"}
DEVICES = {"cpu": "CPU", "gpu": "GPU"}
NUMBERS = "no one two three four five six seven eight nine ten".split()


def title(framework: str) -> str:
    return TITLES.get(framework, framework)


def device(name: str) -> str:
    return DEVICES.get(name, name)


def count(number: int, noun: str) -> str:
    """`1 thread`, `2 threads`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listing(items: Iterable[object], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    words = [str(item) for item in items]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def three(value: float | None) -> str:
    """Three significant digits, without an exponent: `0.580`, `12.3`, `1,230`."""
    if value is None or not math.isfinite(value):
        return "" if value is None else str(value)
    if value == 0:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(float(f"{value:.2e}"))))
    return f"{round(value, decimals):,.{max(decimals, 0)}f}"


def scientific(value: float) -> str:
    """`3.1e-15`; plain `0` for nothing at all."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def percent(share: float) -> str:
    """`3 %`, `6.1 %`, `0.42 %`."""
    digits = three(100 * share)
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} %"


def probability(p: float | None) -> str:
    if p is None:
        return ""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def large(number: float, unit: str = "") -> str:
    """`11.0 million`, `1.23 thousand million`."""
    for size, word in ((1e9, "thousand million"), (1e6, "million")):
        if number >= size:
            return f"{three(number / size)} {word}{unit}"
    return f"{number:,.0f}{unit}"


def crossed(keys: Sequence[tuple[object, ...]]) -> str:
    """Many keys in few words: `mlp and mnist-cnn, default, CPU, 1 and 2 threads`.

    Keys that are all combinations of their parts become one phrase; others are split by
    their first part, and listed in the end.
    """
    keys = list(dict.fromkeys(keys))
    axes = [list(dict.fromkeys(values)) for values in zip(*keys, strict=True)]
    if len(keys) == math.prod(len(axis) for axis in axes) and set(keys) == set(product(*axes)):
        return ", ".join(listing(spoken(axis)) for axis in axes)
    groups = [list(group) for _, group in groupby(sorted(keys, key=str), key=lambda key: key[0])]
    if len(groups) == 1:
        return "; ".join(", ".join(listing(spoken([part])) for part in key) for key in keys)
    return "; ".join(crossed(group) for group in groups)


def spoken(values: Sequence[object]) -> list[str]:
    """Thread counts get their unit, frameworks and devices their names."""
    if all(isinstance(value, int) for value in values):
        words = [str(value) for value in values]
        words[-1] += " thread" if values == [1] else " threads"
        return words
    return [TITLES.get(str(value), DEVICES.get(str(value), str(value))) for value in values]


def capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
