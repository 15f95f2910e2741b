"""The page about a series of studies, for a terminal and in Markdown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table

from analysis.data.occasions import Occasion, processor, span, when
from analysis.findings.comparisons import ToReference
from analysis.findings.fairness.settings import changed_settings
from analysis.findings.speed.movement import OCCASIONS, Movement
from analysis.format import (
    count,
    crossed,
    listing,
    markdown_table,
    percent,
    probability,
    quoted,
    runs,
    three,
    title,
    unquoted,
    with_ends,
)
from analysis.repeats.series import (
    Captures,
    Joint,
    NumberedStudy,
    Series,
    captures,
    joint_tests,
    speeds,
)
from analysis.report.layout import Rich
from analysis.report.markup import fence, for_markdown
from analysis.report.sections.comparing.movement import turn
from analysis.stats.inference import of_equivalence


@dataclass(frozen=True)
class Sheet:
    """A table: headings, and cells as text."""

    columns: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        return markdown_table(self.columns, [[*map(quoted, row)] for row in self.rows])


@dataclass(frozen=True)
class Page:
    """Everything that Markdown and the terminal show, computed once."""

    found: list[Series]
    joint: list[Joint]
    captures: list[Captures]

    @classmethod
    def of(cls, found: Sequence[Series]) -> "Page":
        joint = [test for series in found for test in joint_tests(series)]
        return cls(list(found), joint, captures(found))

    @property
    def studies(self) -> list[NumberedStudy]:
        return sorted((s for one in self.found for s in one.studies), key=lambda s: s.number)

    @property
    def confidence(self) -> float:
        return self.studies[-1].machine.study.confidence

    @property
    def starts(self) -> dict[Occasion, str]:
        """`A: amd-epyc-2c, 22 Nov 2026 07:58` for each occasion, with its first study's start."""
        first: dict[Occasion, NumberedStudy] = {}
        for study in self.studies:
            first.setdefault(study.occasion, study)
        return {
            where: f"{letter(n)}: {where.machine}, {span(study.machine)[0]:%-d %b %Y %H:%M}"
            for n, (where, study) in enumerate(first.items())
        }

    def letter(self, study: NumberedStudy) -> str:
        return letter(list(self.starts).index(study.occasion))


def letter(number: int) -> str:
    """A, B ... Z, AA, AB ..."""
    return (letter(number // 26 - 1) if number > 25 else "") + chr(ord("A") + number % 26)


def study_sheet(page: Page) -> Sheet:
    return Sheet(
        ["study", "occasion", "machine", "measured", "start of the machine", "processor",
         "replicates", "rounds", "samestep"],
        [
            [
                str(study.number), page.letter(study), study.machine.name, when(study.machine),
                start(study), str(processor(study.machine)),
                str(study.machine.study.replicates), rounds(study), listing(commits(study)),
            ]
            for study in page.studies
        ],
    )  # fmt: skip


def start(study: NumberedStudy) -> str:
    dated = study.occasion.start == f"{span(study.machine)[0]:%Y-%m-%d}"
    return "not recorded" if dated else study.occasion.start


def rounds(study: NumberedStudy) -> str:
    contest = study.machine.study.configuration.get("contest") or {}
    return str(contest.get("rounds", ""))


def commits(study: NumberedStudy) -> list[str]:
    codes = {(c.code.commit[:7], c.code.dirty) for c in study.machine.records.contests}
    return [f"{commit or 'unknown'}{' with changes' * dirty}" for commit, dirty in sorted(codes)]


def row_sheet(series: Series) -> Sheet:
    occasions = len(series.occasions) >= OCCASIONS
    return Sheet(
        ["comparison", "lowest to highest", "mean (interval)", "next study",
         *["next occasion"] * occasions, "direction changed", "series"],
        [
            [
                named(row), f"{three(row.lowest)} to {three(row.highest)}",
                with_ends(*row.ratio),
                ends(row.next_study_low, row.next_study_high),
                *[ends(row.next_occasion_low, row.next_occasion_high)] * occasions,
                turn(row), row.lasting,
            ]
            for row in series.rows
        ],
    )  # fmt: skip


def estimate_sheet(page: Page) -> Sheet:
    """Each study's ratio and interval, a column for each study."""
    rows: dict[str, dict[int, str]] = {}
    for study in page.studies:
        for row in study.findings.comparisons:
            if row.estimate.ratio:
                rows.setdefault(named(row), {})[study.number] = with_ends(
                    row.estimate.ratio, row.estimate.ratio_low, row.estimate.ratio_high
                )
    numbers = [study.number for study in page.studies]
    return Sheet(
        ["comparison", *(f"{s.number} ({page.letter(s)})" for s in page.studies)],
        [[name, *(own.get(number, "") for number in numbers)] for name, own in rows.items()],
    )


def joint_sheet(page: Page) -> Sheet:
    return Sheet(
        ["machine", "studies", "contests", "mean F", "p"],
        [
            [test.studies[0].machine.name, numbers(test.studies), str(test.contests),
             f"{test.f:.2f}", probability(test.p)]
            for test in page.joint
        ],
    )  # fmt: skip


def numbers(studies: Sequence[NumberedStudy]) -> str:
    return runs(study.number for study in studies)


def capture_sheet(page: Page) -> Sheet:
    return Sheet(
        ["two studies", "pairs", "interval contains the other's estimate", "expected if equal"],
        [
            [one.where, str(one.pairs), f"{one.seen} ({percent(one.seen / one.pairs)})",
             percent(one.by_chance)]
            for one in page.captures
        ],
    )  # fmt: skip


def repeated(page: Page) -> str:
    """What was repeated, in a sentence."""
    own = [
        f"{len(series.studies)} on `{series.machine}` ({count(len(series.occasions), 'occasion')})"
        for series in page.found
    ]
    text = f"{count(len(page.studies), 'study', 'studies')}: {listing(own)}."
    return text + " An occasion is one start of a machine."


def follows(page: Page) -> Iterator[str]:
    """What a reader of one study should take from the series."""
    for series in page.found:
        if not series.rows:
            continue
        spreads = sorted(row.spread for row in series.rows)
        kinds = len({processor(study.machine) for study in series.studies})
        yield (
            f"On `{series.machine}` ratios moved by {about(spreads[len(spreads) // 2])} typically "
            f"and {about(spreads[-1])} at most, largest over smallest of "
            f"{count(len(series.studies), 'study', 'studies')}"
            f"{f' on {kinds} kinds of processor under this name' if kinds > 1 else ''}. "
            f"{turned(series.rows)}"
        )
        if changed := changed_settings(series.studies):
            settings = "; ".join(setting(*key, by) for key, by in changed.items())
            yield f"Not all of these studies ran with the same settings: {quoted(settings)}."
        reaches = sorted(row.reach for row in series.rows if row.reach is not None)
        if reaches:
            yield (
                f"**A ratio nearer to 1 than {about(reaches[len(reaches) // 2])} can turn round on "
                f"another day there.** So far does the {percent(page.confidence)} prediction "
                "interval for the next occasion reach in half of the comparisons."
            )
            lasts = sum(row.lasting.startswith("lasting") for row in series.rows)
            yield (
                f"{lasts} of {count(len(series.rows), 'comparison')} have a lasting verdict there: "
                "the next occasion is expected to repeat it."
            )
    if page.captures:
        shares = [f"{part(one.seen / one.pairs)} of pairs {one.where}" for one in page.captures]
        chances = sorted(one.by_chance for one in page.captures)
        expected = dict.fromkeys(part(end) for end in (chances[0], chances[-1]))
        yield (
            f"One study's interval contains another's estimate in {listing(shares)}. With one "
            f"truth for all studies it would be {' to '.join(expected)}."
        )


def joint_sentences(page: Page) -> Iterator[str]:
    for test in page.joint:
        differ = f"{'' if test.p < 1 - page.confidence else 'do not '}differ by more than"
        yield (
            f"Studies {numbers(test.studies)} {differ} the scatter of their contests explains "
            f"(joint permutation test, p {probability(test.p)})."
        )


def part(share: float) -> str:
    """`23 %`, `100 %`: of a whole."""
    return percent(float(f"{share:.2g}"))


def about(share: float) -> str:
    """`8 %`, `23 %`; what rounds to 100 % or more is a factor."""
    if share >= 0.995:
        return f"a factor of {1 + share:.1f}"
    return f"{100 * share:.2g} %"


def setting(framework: str, name: str, by_value: Mapping[str, list[NumberedStudy]]) -> str:
    """`TensorFlow's onednn is no in study 12 and yes in study 13`"""
    values = [
        f"{value} in {'study' if len(studies) == 1 else 'studies'} {numbers(studies)}"
        for value, studies in by_value.items()
    ]
    return f"{title(framework)}'s {name} is {listing(values)}"


def turned(rows: Sequence[Movement]) -> str:
    crossed_rows = [row for row in rows if row.crossed]
    opposed = [row for row in rows if row.contradicted]
    if not crossed_rows:
        return "No ratio changed its direction."
    text = f"{len(crossed_rows)} of {len(rows)} changed direction"
    if opposed:
        return f"{text}, with opposite verdicts in {'; '.join(map(named, opposed))}."
    return f"{text}, none with opposite verdicts."


def speed_sentences(page: Page) -> Iterator[str]:
    """How much of the movement goes with the machine's own speed."""
    for series in page.found:
        found = speeds(series)
        for one in found:
            yield (
                f"On `{series.machine}`, {part(one.share)} of the variance {one.where} goes "
                f"with the machine's speed; any number would take {part(one.by_chance)} by "
                "chance."
            )
        if found:
            yield OWN if found[0].own else SUBSTITUTE


OWN = "Its speed is that of the machine's own turns, a matrix product and a memory stream."
SUBSTITUTE = (
    "Its speed is the mean time of the contenders outside a comparison, on the same workload and "
    "threads: not all records have turns of the machine itself. This is association, not cause."
)
METHOD = """\
Each study counts once, whatever its number of replicates. The mean has Student's {confidence}
interval over studies, and *next study* is the prediction interval for another. Studies of one
occasion share a host and its neighbours, so they are not independent: *next occasion* and the
verdict of the series take the mean of each occasion as one value. A series has a verdict from
{least} occasions on. It is *lasting equivalent* if the {narrow} prediction interval lies within the
margin ({margin}), and *lasting faster* or *slower* if the {confidence} prediction interval leaves
out 1. Machines of different names are never pooled; hosts with one name are, because a reader
cannot choose among them. A study is left out of a comparison whose layers a framework's adapter
computed in another way than in the newest study, by the layout and pooling read back. Older records
do not name the start of the machine; their date stands for it, so two occasions of one date may be
one.
"""
TESTS = """\
The joint test permutes whole contests over studies, all comparisons of a contest together, and
takes Fisher's F averaged over the comparisons. It assumes that contests of different studies
scatter alike.
"""


def markdown(page: Page, command: str, figure: str) -> str:
    study = page.studies[-1].machine.study
    narrow = percent(of_equivalence(page.confidence))
    known = {"confidence": percent(page.confidence), "margin": percent(study.margin)}
    parts = [
        "# How well results repeat",
        repeated(page),
        bullets(map(Rich, follows(page))),
        f"![Each study's ratio by comparison, coloured by occasion]({figure})",
        METHOD.format(least=OCCASIONS, narrow=narrow, **known).strip(),
    ]
    for series in page.found:
        if series.rows:
            parts += [f"## On `{series.machine}`", row_sheet(series).markdown()]
    parts += ["## Tests", capture_sheet(page).markdown()]
    if page.joint:
        parts += [joint_sheet(page).markdown(), TESTS.strip()]
    parts += [for_markdown(Rich(text)) for text in [" ".join(speed_sentences(page))] if text]
    parts += [
        "## The studies",
        study_sheet(page).markdown(),
        "<details><summary>Each study's ratios</summary>",
        estimate_sheet(page).markdown(),
        "</details>",
        written_by(command),
    ]
    return "\n\n".join(parts) + "\n"


def bullets(texts: Iterable[str]) -> str:
    """A list of texts in which names and settings are other people's."""
    return "\n".join(f"- {for_markdown(text)}" for text in texts)


def written_by(command: str) -> str:
    mark = fence(command)
    return f"Written by\n\n{mark}sh\n{command}\n{mark}"


def show(page: Page) -> None:
    """The same for a terminal, in its full width."""
    console = terminal(200)
    for sheet in [study_sheet(page), *(row_sheet(one) for one in page.found if one.rows)]:
        console.print(table(sheet))
        console.print()
    texts = [*follows(page), *joint_sentences(page), *speed_sentences(page)]
    print(*(unquoted(text.replace("**", "")) for text in texts), sep="\n")


def terminal(width: int) -> Console:
    """Names are printed as they are. `width` is that of a file or a pipe."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = width
    return console


def table(sheet: Sheet, numbers: int = 0) -> Table:
    """The first column to the left, and as many of the next as are `numbers` to the right."""
    found = Table(box=None, pad_edge=False, header_style="")
    for place, heading in enumerate(sheet.columns):
        side: Literal["left", "right"] = "right" if 0 < place <= numbers else "left"
        found.add_column(heading, justify=side, no_wrap=place == 0)
    for cells in sheet.rows:
        found.add_row(*cells)
    return found


def named(row: ToReference) -> str:
    """`mlp, 1 thread, default, JAX`, and what it is compared with if the variants differ."""
    one = row.id
    other = f" to {row.against}" * (row.reference_variant != one.variant)
    device = [one.device] * (not one.on_host)
    where = crossed([(one.workload, *device, one.threads, one.variant)])
    return f"{where}, {title(one.framework)}{other}"


def ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{three(low)} to {three(high)}"
