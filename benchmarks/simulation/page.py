"""docs/simulation.md, from the results."""

from collections.abc import Iterable, Sequence

from analysis.format import listing, markdown_table
from benchmarks.simulation.results import Cell, Rate, Results

COVERED = 0.94, 0.96


def document(found: Results) -> str:
    return "\n".join(
        [
            introduction(found),
            within(found),
            verdicts(found),
            *([other_hours(found)] if found.moved else []),
            noise(found),
            naive(found),
        ]
    )


def failures(found: Results) -> list[str]:
    """The designs whose coverage is not shown to lie within 94 to 96 %."""
    return [
        f"{named(cell)}: coverage is {shown(cell.coverage)}, not within 94 to 96 %"
        for cell in found.cells
        if not COVERED[0] <= cell.coverage.low <= cell.coverage.high <= COVERED[1]
    ]


def introduction(found: Results) -> str:
    shares = [cell.coverage.share for cell in found.cells]
    away = "".join(
        f" It contains that of {row.where} in {percent(row.coverage.share)}."
        for row in found.moved[-1:]
    )
    return f"""\
# How often is the report right?

A 95 % interval contains the true ratio of its own hour in {100 * min(shares):.1f} to \
{100 * max(shares):.1f} % of simulated studies.{away}

No real study can show this, because nobody knows its true ratio. So {found.studies:,} studies are
simulated for every figure below. Their noise is drawn from {len(found.folders)} recorded studies,
their true ratios are known, and the report's own code judges them.

```sh
python -m benchmarks.simulation   # writes this page and results.json, in half a minute
```

Brackets are 95 % intervals of the simulation itself.
"""


def within(found: Results) -> str:
    failed = failures(found)
    said = (
        "The 95 % interval contains the true ratio in 94 to 96 % of all comparisons, in every "
        "design.\n"
        if not failed
        else "**Not all designs cover the truth in 94 to 96 %:**\n\n"
        + "".join(f"- {failure}\n" for failure in failed)
    )
    return (
        f"## Within the hour\n\n{said}\n"
        + table(
            ("design", "coverage", "of single comparisons", "half-width",
             "faster or slower at a true ratio of 1"),
            [
                (named(cell), shown(cell.coverage),
                 f"{100 * cell.lowest:.1f} to {100 * cell.highest:.1f} %",
                 f"{100 * cell.half_width:.1f} %", different(cell))
                for cell in found.cells
            ],
        )
        + "\nThe half-width is the geometric mean. At a true ratio of 1 an interval leaves out 1 "
        "as often as it misses the truth: these are the false positives. Fewer verdicts are wrong, "
        "because a ratio whose 90 % interval lies within the margin is *equivalent* first. "
        "*Default* is [study.yaml](../config/study.yaml), whose replicates depend on the budget; "
        "the reference study has 8. *Former* is the design of most recorded studies: 12 rounds of "
        "6 mini-batches, of which 2 do not count.\n"
    )  # fmt: skip


def different(cell: Cell) -> str:
    at_one = cell.verdicts["1"]
    return f"{100 * (at_one['faster'].share + at_one['slower'].share):.2f} %"


def verdicts(found: Results) -> str:
    cells = [cell for cell in found.cells if cell.replicates in (5, 8)]
    return (
        "## What each verdict costs\n\nHow often each verdict is given, by the true ratio. 1.05 is "
        "the edge of the margin: *equivalent* is allowed in 5 % there.\n\n"
        + table(
            ("design", "true ratio", "slower", "equivalent", "cannot tell", "faster"),
            [
                (named(cell), truth, *(shown(rates[each]) for each in
                 ("slower", "equivalent", "cannot tell", "faster")))
                for cell in cells for truth, rates in cell.verdicts.items()
            ],
        )
    )  # fmt: skip


def other_hours(found: Results) -> str:
    inside, of = found.held_out
    return (
        "## Another hour, another host\n\nAn interval is about its hour. The first table has how "
        "often an interval of five replicates contains the true ratio of another hour or host. "
        "True ratios differ between these by the standard deviation given, which is estimated from "
        "the records and drawn as normal. The last two columns check that: how often a recorded "
        "interval contains the estimate of another recorded study, and what simulation expects of "
        "two studies with eight replicates.\n\n"
        + table(
            ("where", "standard deviation", "contains that truth", "expected of an estimate",
             "recorded"),
            [
                (row.where, percent(row.sd), shown(row.coverage), shown(row.expected),
                 f"{row.seen} of {row.pairs} ({percent(row.seen / row.pairs)})"
                 if row.pairs else "none")
                for row in found.moved
            ],
        )
        + "\nA series of studies foresees the next host only if its own studies are of different "
        "hosts. This is how often its 95 % prediction interval contains the next estimate:\n\n"
        + table(
            ("series", "hosts differ by", "coverage of the prediction interval"),
            [
                (f"{row.count} {row.of}", percent(row.sd), shown(row.coverage))
                for row in found.predicted
            ],
        )
        + (f"\nIn the records, {inside} of {of} means of an occasion lie within the prediction "
        f"interval of the other {len(found.sources) - 1} occasions. Occasions are few. Hosts move "
        "some comparisons far more than others, and normal differences of one size do not show "
        "that. Take the last two rows of the first table as an order of magnitude.\n") * bool(of)
    )  # fmt: skip


def noise(found: Results) -> str:
    alone = [source for source in found.sources if source.alone]
    worst = min(alone, key=lambda source: source.alone.share if source.alone else 1.0)
    assert worst.alone is not None
    return (
        "## The noise\n\nA simulated contest is a recorded contest "
        "([noise.py](../benchmarks/simulation/noise.py)). Consecutive rounds are taken from it, as "
        "many as the design has. So mini-batches, turns and interference scatter as they did, and "
        "a process that was slow for life is slow again. Noise that all processes of a contest "
        "share cancels in a ratio. An occasion is one start of a machine. Each has its own "
        "standard deviations, and a simulated study has those of one occasion. The shape of the "
        "noise is that of all contests.\n\n"
        + table(
            ("machine", "processor", "day", "studies", "contests",
             "standard deviation of a log-ratio", "coverage from these contests alone"),
            [
                (row.machine, row.processor, row.day, row.studies, row.contests, percent(row.sd),
                 shown(row.alone) if row.alone else "")
                for row in found.sources
            ],
        )
        + f"\nThe last column is of five replicates whose noise has the shape of that row's "
        f"contests alone. It falls to {percent(worst.alone.share)} with the {worst.contests} "
        f"contests of {worst.day}. One odd process in {worst.contests} contests then counts as one "
        f"in {worst.contests} for ever, and a study that meets none has an interval that does not "
        "allow for it. So few contests cannot show how frequent odd processes are. All contests "
        "together show it better.\n\n"
        "The next table has the tails: log-ratios beyond three and four robust standard deviations "
        "from their study's mean, and the kurtosis. Records have many more of these than normal "
        "values have: some processes are slow for life, or fast. Simulated studies have somewhat "
        "fewer than the records: a study's mean follows its odd process, in the records once and "
        "in the simulation a second time.\n\n"
        + table(
            ("", "beyond 3", "beyond 4", "kurtosis", "median standard deviation"),
            [
                (row.of, share(row.beyond_three), share(row.beyond_four), f"{row.kurtosis:.2f}",
                 f"{row.median_sd:.2f}")
                for row in found.scatter
            ],
        )
        + "\nThe unit is the standard deviation of the occasion and comparison.\n"
    )  # fmt: skip


def naive(found: Results) -> str:
    rates = [f"{percent(row.found / row.tests)} by {row.unit}" for row in found.naive]
    return (
        "## Counting mini-batches\n\nIn the same records, Welch's test at 5 % finds a contender "
        f"different from itself in {listing(rates)}. Mini-batches of one process are not "
        "independent. These are 24 to 48 mini-batches a process. With 300, measured earlier on "
        "another machine, the first share was 83 to 88 %.\n\nDo not add replicates until a row is "
        "decided. Fix their number before any ratio is seen.\n"
    )


def named(cell: Cell) -> str:
    return f"{cell.design}, {cell.replicates} replicates"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return markdown_table(head, [[str(cell) for cell in row] for row in rows]) + "\n"


def shown(rate: Rate) -> str:
    return f"{100 * rate.share:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def share(value: float) -> str:
    return f"{100 * value:.2f} %"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %" if value < 0.1 else f"{100 * value:.0f} %"
