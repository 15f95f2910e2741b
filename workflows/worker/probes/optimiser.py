"""The optimiser's formula, read off its updates of weights with known gradients.

The network has one output, `sum(w_i * x_i) + b`, and a target so large that the weights hardly
matter. The inputs fix the gradient of each `w_i`, from 1 down to 1e-12, and it hardly changes.

A formula is named only if it is one: each update follows from its own gradient alone, and all of
them lie on the curve of an epsilon or on a straight line. Clipped gradients do not.
"""

from dataclasses import dataclass

import numpy as np

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Workload
from frameworks.workloads.layers import Dense
from workflows.worker.probes.asking import NONE, network, significant, step, trained

GRADIENTS = 2.0 ** -np.arange(0.0, 41.0, 2.0)
TARGET = 2.0**10
PLACES = 2  # in `GRADIENTS`, by which all gradients are smaller in another run
LINEAR = 1e-3  # relative
FITS = 1e-2  # relative, of a curve; right optimisers: 1e-5
OF_OTHERS = "unknown: it depends on other weights' gradients, too; the smallest moved by {:.1e}"
NO_CURVE = "unknown: updates lie on no known curve"


@dataclass(frozen=True)
class Updates:
    """The first and second update of the weight of each gradient in `GRADIENTS`.

    `drift`: the second gradient divided by the first. `still`: a weight that began as 1 and has
    no gradient. `again`: the first update after a restart. `smaller`: the first update if all
    gradients, the bias's too, are those of `PLACES` further.
    """

    first: np.ndarray
    second: np.ndarray
    drift: float
    still: float
    again: np.ndarray
    smaller: np.ndarray

    @property
    def plateau(self) -> float:
        """The first update for a gradient of 1."""
        return float(self.first[0])

    @property
    def linear(self) -> bool:
        """Whether updates are proportional to the gradient, for example in SGD (no epsilon)."""
        return bool(np.allclose(self.first, self.plateau * GRADIENTS, rtol=LINEAR, atol=0))

    @property
    def unknown(self) -> str:
        """Why no number of a formula can be read off; "" if one can, or if numbers overflow."""
        if not np.isfinite([*self.first, *self.smaller]).all():
            return ""
        if not np.allclose(self.smaller[:-PLACES], self.first[PLACES:], rtol=LINEAR, atol=0):
            return OF_OTHERS.format(self.first[-1])  # of several that clip, not all do so alike
        return "" if self.linear or min(misfits(self).values()) < FITS else NO_CURVE


def observe(adapter: Adapter, variant: str, workload: Workload) -> Updates:
    count = len(GRADIENTS)
    asked = network(Dense(1), shape=(count + 1,), batch=1, optimiser=workload.optimiser)
    inputs = np.zeros((1, count + 1), np.float32)
    inputs[0, :count] = GRADIENTS / (2 * TARGET)
    targets = np.full((1, 1), TARGET, np.float32)
    kernel = np.zeros((count + 1, 1))
    kernel[count] = 1
    trainer, given = trained(adapter, variant, asked, {"dense1.kernel": kernel})

    kernels, biases = [kernel[:, 0]], [0.0]
    for _ in range(2):
        step(trainer, inputs, targets)
        weights = trainer.weights()
        kernels.append(weights["dense1.kernel"][:, 0].astype(float))
        biases.append(float(weights["dense1.bias"][0]))
    trainer.restart(given)
    step(trainer, inputs, targets)
    again = trainer.weights()["dense1.kernel"][:count, 0].astype(float)
    other, _ = trained(adapter, variant, asked, {"dense1.kernel": kernel})
    step(other, inputs, targets * np.float32(GRADIENTS[PLACES]))
    smaller = other.weights()["dense1.kernel"][:count, 0].astype(float)
    moved = (TARGET - float(inputs[0] @ kernels[1]) - biases[1]) / TARGET
    return Updates(
        first=kernels[1][:count],
        second=kernels[2][:count] - kernels[1][:count],
        drift=moved,
        still=float(kernels[1][count]),
        again=again,
        smaller=smaller,
    )


def effective_rate(seen: Updates) -> Setting:
    return seen.unknown or significant(seen.plateau)


def effective_epsilon(seen: Updates) -> Setting:
    """The gradient at which updates change from proportional to constant. For the published Adam
    this is epsilon, for RMSprop `epsilon / sqrt(1 - decay)`."""
    return seen.unknown or (NONE if seen.linear else significant(corner(seen)))


def epsilon_place(seen: Updates) -> Setting:
    """Whether epsilon is added inside or outside the root of the mean square, for which updates
    near the corner differ by a factor of 1.4. If the bias is corrected after epsilon is added,
    small second updates are larger than the first ones."""
    if seen.unknown or seen.linear or not corner(seen):
        return seen.unknown or NONE
    off = misfits(seen)
    place = min(off, key=lambda name: off[name])
    growing = seen.second[-1] / seen.first[-1] / seen.drift > 1.2
    return f"{place}, before bias correction" if growing else place


def misfits(seen: Updates) -> dict[str, float]:
    """How far the updates are from the curve of each place of epsilon, at worst, relative."""
    curves = {
        "outside the root": GRADIENTS / (GRADIENTS + corner(seen)),
        "inside the root": GRADIENTS / np.sqrt(GRADIENTS**2 + corner(seen, power=2) ** 2),
    }
    return {
        name: float(abs(seen.plateau * curve / curve[0] / seen.first - 1).max())
        for name, curve in curves.items()
    }


def corner(seen: Updates, power: int = 1) -> float:
    """Where the curve bends that has the first and the last update: `g / (g + corner)`, or the root
    of squares with a `power` of 2."""
    smallest, fall = GRADIENTS[-1] ** power, (seen.plateau / seen.first[-1]) ** power
    found = float(smallest * (fall - 1) / (1 - smallest * fall))
    return found ** (1 / power) if found > LINEAR * smallest else 0.0


def second_update(seen: Updates) -> Setting:
    return significant(float(seen.second[0] / seen.first[0]) / seen.drift)


def weight_decay(seen: Updates) -> Setting:
    return "none" if seen.still == 1 else significant(1 - seen.still)


def restart(seen: Updates) -> Setting:
    return "forgets" if np.array_equal(seen.again, seen.first) else "remembers"


QUESTIONS = {
    "effective_rate": effective_rate,
    "effective_epsilon": effective_epsilon,
    "epsilon_place": epsilon_place,
    "second_update": second_update,
    "weight_decay": weight_decay,
    "restart": restart,
}
