"""docs/simulation.md: what was simulated, and what came of it."""

from collections.abc import Iterable, Sequence

from benchmarks.simulation.demands import demands
from benchmarks.simulation.noise import Fits
from benchmarks.simulation.scenarios import NO_DIFFERENCE, SCENARIOS
from benchmarks.simulation.sections import (
    beginning,
    equal,
    naive,
    noise,
    power,
    searched,
    staged,
    unequal,
)
from benchmarks.simulation.validation import Outcome, Validation

INTRODUCTION = """\
# Is the method right?

Real studies cannot tell whether their intervals are right, as nobody knows the true ratio. So
{studies:,} studies are simulated for every scenario below, mini-batch by mini-batch, with a true
ratio that is known: the default study's ten contenders in two workloads, five mini-batches of
warm-up, twelve rounds of turns of six, of which two settle. It goes through the code
of the report: the median over pairs of mini-batches of a round, Student's interval over
replicates, Holm's correction, verdicts. A method that is right says *faster* or *slower* of
equal contenders in one row of twenty before correction, in one study of twenty after it, and its
95 % intervals cover the true ratio 95 times in 100.

Noise is drawn from a model ([noise.py](../analysis/simulation/noise.py)): what a process keeps from
its start to its end, what all processes of a contest share, drift that all who take turns share,
turns, level shifts, autocorrelated mini-batches, interruptions, slow first mini-batches of a
turn and of a process, with tails as heavy as in the records. It is fitted to records by
[fitting.py](../analysis/simulation/fitting.py), with the formulas in
[moments.py](../analysis/simulation/moments.py).

```sh
{fit}
python -m benchmarks.simulation validate
```

The first command fits the model anew, the second writes this page, in some twenty minutes of one
core, and ends with an error if a demand is not met. Seeds are fixed, so that the page is the same
every time. Brackets are 95 % intervals (Clopper and Pearson's, with rows of one study counted as
less where they err together).
"""


def document(fits: Fits, validation: Validation, first: Sequence[Outcome]) -> str:
    """The whole page; `first` are the outcomes of the first portion of studies."""
    parts = [
        INTRODUCTION.format(studies=validation.studies, fit=fits.command),
        demanded(validation),
        "## Equal contenders\n",
        scenarios(NO_DIFFERENCE),
        equal(validation.outcomes),
        "## Contenders that differ\n",
        scenarios([name for name in SCENARIOS if name not in NO_DIFFERENCE]),
        unequal(validation.outcomes),
        power(validation.outcomes),
        naive(validation),
        staged(validation),
        searched(validation),
        noise(fits),
        beginning(first),
    ]
    return "\n".join(parts)


def scenarios(names: Iterable[str]) -> str:
    return "".join(f"- **{name}**: {SCENARIOS[name].what}.\n" for name in names)


def demanded(validation: Validation) -> str:
    every = demands(validation)
    failed = [f"- {demand}\n" for demand in every if not demand.met]
    text = (
        "## What was demanded\n\n"
        "Of equal contenders: false positives at most 5 % and, after Holm's correction, at most "
        "5 % of studies with any: a right method is at 5 % or just below, so a little more is "
        "allowed, as far as one chance in 1,000 explains it, with a 95 % upper bound of at most "
        "6 %. Everywhere but where it says otherwise: coverage of the 95 % interval "
        "between 94 and 96 %, its own interval included. At the edge of the margin: *equivalent* "
        "in at most 5 %. Of methods that count mini-batches: that the noise finds them out.\n\n"
    )
    if not failed:
        return f"{text}All {len(every)} demands are met.\n"
    return f"{text}{len(failed)} of {len(every)} demands are **not met**:\n\n{''.join(failed)}"
