"""Black-box probes: what a contender computes, found out by having it compute.

Each module trains one small network through the contract (`observe`), and answers questions about
the result (`QUESTIONS`, by the name of the setting). Probes work with any adapter, and ask it
nothing about itself.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Workload
from workflows.worker.probes import convolution, dense, loss, normalisation, optimiser, recurrent

UNSUPPORTED = "not supported"
WORDS = 12

Observe = Callable[[Adapter, str, Workload], Any]
GROUPS: tuple[tuple[Observe, Mapping[str, Callable[..., Setting]]], ...] = (
    (optimiser.observe, optimiser.QUESTIONS),
    (loss.observe, loss.QUESTIONS),
    (convolution.observe, convolution.QUESTIONS),
    (dense.observe, dense.QUESTIONS),
    (normalisation.observe, normalisation.QUESTIONS),
    (recurrent.observe, recurrent.QUESTIONS),
)
QUESTIONS: tuple[str, ...] = tuple(name for _, questions in GROUPS for name in questions)


def probe(adapter: Adapter, variant: str, workload: Workload) -> dict[str, Setting]:
    """The answer to every question, for this workload's loss and optimiser. The answer is `not
    supported` with the reason if the adapter cannot train the probe's network."""
    found: dict[str, Setting] = {}
    for observe, questions in GROUPS:
        try:
            seen = observe(adapter, variant, workload)
        except Exception as error:
            found |= dict.fromkeys(questions, unsupported(error))
            continue
        for name, question in questions.items():
            try:
                found[name] = finite(question(seen))
            except Exception as error:
                found[name] = unsupported(error)
    return found


def unsupported(error: Exception) -> str:
    words = (str(error) or type(error).__name__).split()
    return f"{UNSUPPORTED}: {' '.join(words[:WORDS])}"


def finite(value: Setting) -> Setting:
    """The value, or a text if it is not finite, because recorded settings hold no NaN."""
    return "not finite" if isinstance(value, float) and not math.isfinite(value) else value
