"""docs/simulation.md: the simulated studies and their results."""

from collections.abc import Iterable, Sequence
from dataclasses import fields

import numpy as np

from analysis.format import three
from benchmarks.simulation.judging import Rate
from benchmarks.simulation.noise import Fits, Noise
from benchmarks.simulation.procedures import MOST
from benchmarks.simulation.scenarios import NO_DIFFERENCE, PORTION, SCENARIOS
from benchmarks.simulation.validation import (
    DIFFERENCES,
    FITTED,
    JUST_OUTSIDE,
    Outcome,
    Validation,
    demands,
    interval,
)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def shown(rate: Rate | None) -> str:
    return interval(rate) if rate and rate.of else "none"


def share(value: float) -> str:
    return f"{100 * value:.2f} %"


def equal(outcomes: Iterable[Outcome]) -> str:
    return table(
        ("scenario", "replicates", "false positives", "any in a study, after Holm",
         "wrongly faster or slower", "coverage", "half the interval"),
        [
            (o.scenario, o.replicates, shown(o.false), shown(o.familywise), shown(o.wrong),
             shown(o.coverage), share(o.half_width))
            for o in outcomes if o.scenario in NO_DIFFERENCE
        ],
    ) + (
        "\nFalse positives are p-values below 5 % before any correction, of all rows. A study is "
        "in the next column if any of its rows is below 5 % after Holm's. Fewer verdicts are wrong "
        "than that, as an interval within the margin says *equivalent* first. Wild processes make "
        "Student's interval wider than it need be, so that it covers more than it says.\n"
    )  # fmt: skip


def unequal(outcomes: Iterable[Outcome]) -> str:
    return table(
        ("scenario", "replicates", "true ratio", "coverage", "half the interval, all ratios"),
        [
            (o.scenario, o.replicates, three(ratio), shown(rate), share(o.half_width))
            for o in outcomes if o.scenario not in NO_DIFFERENCE
            for ratio, rate in o.by_ratio.items()
        ],
    ) + (
        "\nWhere processes of one side alone are slow now and then, the interval covers less than "
        "it says: most studies of few replicates have seen too few of the slow ones, or none, and "
        "no interval knows of what was not seen. Records show no sign of it, as the kurtosis of "
        "log-ratios, below, is that of normal ones, but they have few processes of each "
        "contender.\n"
    )  # fmt: skip


def power(outcomes: Iterable[Outcome]) -> str:
    return (
        "## What can be seen\n\nUnder the fitted noise, with all twelve rows of a study at the "
        "same true ratio: how often a row is *slower*, as it should be, "
        f"and how often a ratio of {JUST_OUTSIDE:g}, just outside the margin, is called "
        "*equivalent*.\n\n"
        + table(
            ("replicates", *(f"slower at {ratio:g}" for ratio in DIFFERENCES),
             f"equivalent at {JUST_OUTSIDE:g}"),
            [
                (o.replicates, *(shown(o.power[ratio]) for ratio in DIFFERENCES), shown(o.outside))
                for o in outcomes if o.scenario == FITTED
            ],
        )
    )  # fmt: skip


def naive(validation: Validation) -> str:
    return (
        "## What counting mini-batches would say\n\nTwo equal contenders with 300 mini-batches a "
        "process, processes that differ by 5 %, intraclass correlation 0.2. On a cloud machine "
        "with such noise, PyTorch against itself was found different by the first method in 83 to "
        "88 %, by the second in 84 to 86 %, by the third in about 5 %.\n\n"
        + table(
            ("Welch's test of", "false positives"),
            [(name, shown(rate)) for name, rate in validation.naive.items()],
        )
    )


def staged(validation: Validation) -> str:
    text = (
        "## Adding replicates after a look\n\nA study is analysed, replicates are added until "
        "intervals reach no further than the margin, and all are analysed as if their number had "
        "been fixed before. Either each row goes on by itself, until its interval would be narrow "
        "enough if the standard deviation seen so far were the true one; or the study as a whole, "
        "as the report advises: until the worst of its rows is narrow enough with a probability "
        f"of 80 %. At most {MOST} replicates. Contenders are equal, so what is not covered is a "
        "false positive. Nothing is demanded here: rows that stop by themselves are those whose "
        "standard deviation came out small by chance, so coverage is lost, most from three "
        "replicates. By the advice it is kept, though where noise is large most studies go on to "
        f"{MOST}, which is as good as a number fixed before. Stein's interval (1945) keeps it "
        "either way: it lies around the mean of all replicates, with the standard deviation and "
        "degrees of freedom of the first.\n"
    )
    for what, rows in validation.staged.items():
        text += f"\n{what[0].upper()}{what[1:]}:\n\n" + table(
            ("who goes on", "replicates at first", "coverage", "of rows that stopped",
             "of rows that went on", "Stein's interval", "rows that went on",
             f"rows that went on to {MOST}", "replicates in the end"),
            [
                (row.rule, row.first, shown(row.coverage), shown(row.stopped), shown(row.continued),
                 shown(row.stein), share(row.share), share(row.to_the_end), three(row.replicates))
                for row in rows
            ],
        )  # fmt: skip
    return text


def noise_section(fits: Fits) -> str:
    studies = dict.fromkeys((f.study, f.machine, f.replicates) for f in fits.fits)
    origins = "; ".join(f"{s} on {m}, {n} replicates" for s, m, n in studies)
    return (
        f"## The noise\n\n{len(fits.fits)} contenders were fitted: {origins}. Sizes are on the "
        "scale of logarithms, so 0.01 is about 1 %.\n\n"
        + noise_table([fit.noise for fit in fits.fits])
        + "\nWhat fitting did not look at, in the records and in simulated studies as large, "
        "medians over contenders or pairs of contenders:\n\n"
        + table(
            ("", "recorded", "simulated"),
            [(check.what, three(check.recorded), three(check.simulated)) for check in fits.checks],
        )
        + "\nOf n normal values the kurtosis is 3 (n - 1) / (n + 1) on average: 2.25 of seven, 2 "
        "of five.\n"
    )


def noise_table(noises: Sequence[Noise]) -> str:
    rows = []
    for each in fields(Noise):
        values = [getattr(one, each.name) for one in noises]
        if isinstance(values[0], tuple):
            for place in range(max(map(len, values))):
                at = [value[place] for value in values if len(value) > place]
                rows.append((f"{each.name} {place + 1}", *spread(at)))
        else:
            rows.append((each.name.replace("_", " "), *spread(values)))
    return table(("", "smallest", "median", "largest"), rows)


def spread(values: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{value:.4g}" for value in (min(values), np.median(values), max(values)))


def beginning(outcomes: Iterable[Outcome]) -> str:
    """Small enough for a test to simulate again, which shows that this code made the page."""
    return (
        f"## The first {PORTION} studies\n\nA test simulates these again and compares.\n\n"
        + table(
            ("scenario", "replicates", "covered", "half the interval"),
            [
                (o.scenario, o.replicates, f"{round(o.coverage.share * o.coverage.of)} of "
                 f"{o.coverage.of}", share(o.half_width))
                for o in outcomes
            ],
        )
    )  # fmt: skip


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

Noise is drawn from a model ([noise.py](../benchmarks/simulation/noise.py)): what a process keeps
from its start to its end, what all processes of a contest share, drift that all who take turns
share, turns, level shifts, autocorrelated mini-batches, interruptions, slow first mini-batches of a
turn and of a process, with tails as heavy as in the records. It is fitted to records by
[fitting.py](../benchmarks/simulation/fitting.py), with the formulas in
[recorded.py](../benchmarks/simulation/recorded.py).

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
        noise_section(fits),
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
