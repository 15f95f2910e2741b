"""How often the detection of steady state is right, on made-up processes.

`python -m tests.analysis.warmup_rates [--length 53] [--repetitions 300]` prints a table for
each scatter of mini-batches. The noise is that of facts measured on a cloud VM: lag-1
autocorrelation .36, Student's t with 4 degrees of freedom, a coefficient of variation of 2 to
5 %. The scatter is estimated from each process alone, which is the hardest case.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

from analysis.steady_state.changepoints import AUTOCORRELATION, Series
from analysis.steady_state.classify import Kind, Warmup, detect
from workflows.planning.configuration import ContestEntry

MARGIN = 0.03
DEALT = ContestEntry()  # by default
LENGTH = DEALT.warmup + DEALT.rounds * (DEALT.turn - DEALT.discard)  # mini-batches searched
NEAR = 5  # mini-batches
SIZES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0)  # 5 % to three times

Process = tuple[Series, Kind, int]
Maker = Callable[[np.random.Generator, int, float, float], Process]


def noise(random: np.random.Generator, n: int, cv: float) -> Series:
    scale = cv * math.sqrt((1 - AUTOCORRELATION**2) / 2)  # the variance of t with 4 is 2
    shocks = scale * random.standard_t(4, n + 30)
    made: Series = lfilter([1.0], [1.0, -AUTOCORRELATION], shocks)[30:]
    return made


def flat(random: np.random.Generator, n: int, cv: float, size: float) -> Process:
    return noise(random, n, cv), "flat", 0


def step_down(random: np.random.Generator, n: int, cv: float, size: float) -> Process:
    start = int(random.integers(1, n // 2 + 1))
    return noise(random, n, cv) + math.log1p(size) * (np.arange(n) < start), "warm-up", start


def step_up(random: np.random.Generator, n: int, cv: float, size: float) -> Process:
    start = int(random.integers(SLOW_FROM, n // 2 + 1))
    return noise(random, n, cv) + math.log1p(size) * (np.arange(n) >= start), "slowdown", start


SLOW_FROM = 3  # before, there is no level to be slower than


def decay(random: np.random.Generator, n: int, cv: float, size: float) -> Process:
    """Exponential; steady when less is left than matters, or than mini-batches scatter. The
    time constant is 1 to 4 mini-batches: of a longer one, five change too little to be seen."""
    left = math.log1p(size) * np.exp(-np.arange(n) / random.uniform(1, 4))
    start = int((left > max(math.log1p(MARGIN), cv)).sum())
    return noise(random, n, cv) + left, "warm-up" if start else "flat", start


def late(random: np.random.Generator, n: int, cv: float, size: float) -> Process:
    """Another level within the last quarter, for a tenth of the process at least."""
    change = int(random.integers(math.ceil(0.78 * n), math.floor(0.9 * n)))
    move = random.choice([-1, 1]) * math.log1p(size)
    return noise(random, n, cv) + move * (np.arange(n) >= change), "no steady state", n


def cycle(random: np.random.Generator, n: int, cv: float, size: float) -> Process:
    """Two levels in turn, each for a tenth to a fifth of the process."""
    each = int(random.integers(math.ceil(n / 10), n // 5 + 1))
    levels = math.log1p(size) * (np.arange(n) // each % 2)
    return noise(random, n, cv) + levels, "no steady state", n


def drift(random: np.random.Generator, n: int, cv: float, size: float) -> Process:
    move = random.choice([-1, 1]) * math.log1p(size)
    return noise(random, n, cv) + move * np.arange(n) / n, "no steady state", n


STARTING: dict[str, Maker] = {"step down": step_down, "decay": decay, "step up": step_up}
UNSTEADY: dict[str, Maker] = {"late change": late, "cycle": cycle, "drift": drift}


def right(found: Warmup, kind: Kind, start: int) -> bool:
    """A start within five mini-batches; for unsteady processes, the class."""
    if kind == "no steady state":
        return found.kind == kind
    return found.kind != "no steady state" and abs(found.start - start) <= NEAR


def rate(maker: Maker, n: int, cv: float, size: float, repetitions: int) -> float:
    """Share of processes in which the detection is right."""
    random = np.random.default_rng([n, round(1e4 * cv), round(1e4 * size)])
    hits = 0
    for _ in range(repetitions):
        series, kind, start = maker(random, n, cv, size)
        hits += right(detect(series, MARGIN), kind, start)
    return hits / repetitions


def false_alarms(n: int, cv: float, repetitions: int) -> float:
    """Share of flat processes that are not called flat."""
    random = np.random.default_rng([n, round(1e4 * cv)])
    found = [detect(noise(random, n, cv), MARGIN).kind for _ in range(repetitions)]
    return sum(kind != "flat" for kind in found) / repetitions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, nargs="+", default=[LENGTH])
    parser.add_argument("--cv", type=float, nargs="+", default=[0.02, 0.035, 0.05])
    parser.add_argument("--repetitions", type=int, default=300)
    options = parser.parse_args()
    for n in options.length:
        for cv in options.cv:
            alarms = false_alarms(n, cv, 3 * options.repetitions)
            print(f"\n{n} mini-batches, CV {100 * cv:g} %: false alarms {100 * alarms:.1f} %")
            print(f"{'size':>14}", *(f"{100 * size:5g} %" for size in SIZES))
            for name, maker in {**STARTING, **UNSTEADY}.items():
                rates = [rate(maker, n, cv, size, options.repetitions) for size in SIZES]
                print(f"{name:>14}", *(f"{100 * share:5.1f}  " for share in rates), flush=True)


if __name__ == "__main__":
    main()
