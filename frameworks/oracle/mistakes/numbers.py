"""The right formulas with other numbers: an optimiser's constants."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.workloads import Workload
from frameworks.workloads.optimisers import Adam

GIVEN = "Hand the workload's {} to the optimiser: the framework's own default is another."
ROUNDED = "Hand {} over in the weights' type (np.float64): a Python float may become float32."
TITLES = {"learning_rate": "learning rate"}

# Defaults of the frameworks, and what a slip of the decimal point gives.
VALUES: dict[str, tuple[float, ...]] = {
    "learning_rate": (0.1, 0.05, 0.01, 0.005, 0.002, 0.001, 5e-4, 1e-4),
    "momentum": (0.5, 0.95, 0.99),
    "decay": (0.0, 0.95, 0.99, 0.999),
    "beta1": (0.0, 0.5, 0.95, 0.99, 0.999),
    "beta2": (0.9, 0.95, 0.98, 0.99, 0.9999),
    "epsilon": (0.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10),
}


def set_to(value: float, key: str) -> Callable[[Workload], Workload]:
    return partial(changed, keys=(key,), change=lambda now: value)


def changed(
    workload: Workload, keys: tuple[str, ...], change: Callable[[float], float]
) -> Workload:
    values = {k: change(v) for k, v in vars(workload.optimiser).items() if k in keys}
    return replace(workload, optimiser=replace(workload.optimiser, **values))


for key, values in VALUES.items():
    title = TITLES.get(key, key)
    for value in values:
        mistake(f"{key.replace('_', '-')}-{value:g}", f"has {title} {value:g}",
                GIVEN.format(title))(set_to(value, key))  # fmt: skip
    if key != "epsilon":  # whose last digits nobody can see
        mistake(
            f"{key.replace('_', '-')}-in-float32",
            f"has its {title} rounded to float32",
            ROUNDED.format(f"the {title}"),
        )(partial(changed, keys=(key,), change=lambda now: float(np.float32(now))))

mistake("betas-in-float32", "has both betas rounded to float32", ROUNDED.format("the betas"))(
    partial(changed, keys=("beta1", "beta2"), change=lambda now: float(np.float32(now)))
)
mistake(
    "numbers-in-float32",
    "has every number of its optimiser rounded to float32",
    ROUNDED.format("the optimiser's numbers"),
)(partial(changed, keys=tuple(VALUES), change=lambda now: float(np.float32(now))))


@mistake("betas-swapped", "has beta1 and beta2 swapped", "Look at the order of the two betas.")
def swapped(workload: Workload) -> Workload:
    match workload.optimiser:
        case Adam(_, beta1, beta2) as adam:
            return replace(workload, optimiser=replace(adam, beta1=beta2, beta2=beta1))
    return workload
