"""What a contender really computes, found out by having it compute: the harness's own probes.

Each module here trains one small network through nothing but the contract (`observe`) and
answers some questions about what came out (`QUESTIONS`, by the name of the setting). They
hold for any adapter, and ask it nothing about itself.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Workload
from workflows.worker.probes import convolution, dense, loss, optimiser

UNSUPPORTED = "not supported"
WORDS = 12

Observe = Callable[[Adapter, str, Workload], Any]
GROUPS: tuple[tuple[Observe, Mapping[str, Callable[..., Setting]]], ...] = (
    (optimiser.observe, optimiser.QUESTIONS),
    (loss.observe, loss.QUESTIONS),
    (convolution.observe, convolution.QUESTIONS),
    (dense.observe, dense.QUESTIONS),
)
QUESTIONS: tuple[str, ...] = tuple(name for _, questions in GROUPS for name in questions)


def probe(adapter: Adapter, variant: str, workload: Workload) -> dict[str, Setting]:
    """The answer to every question, for this workload's loss and optimiser; `not supported`
    and why, where the adapter cannot do what is asked."""
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
    """Records hold no NaN among their settings."""
    return "not finite" if isinstance(value, float) and not math.isfinite(value) else value
