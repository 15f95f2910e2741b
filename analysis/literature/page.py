"""The claims as a page: verdict by verdict, with what decides each claim."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args
from urllib.parse import quote

from analysis.data.results import grouped
from analysis.format import count, listing, markdown_table, three, title, with_ends
from analysis.literature.judging.claims import ClaimVerdict, Judgement
from analysis.literature.judging.devices import WORDS, sides
from analysis.literature.judging.double_ratios import ELSEWHERE, GAIN
from analysis.literature.published.table7 import CPUS, rows
from analysis.literature.published.then import ITSELF
from analysis.literature.studies import PART, POSITION, MeasuredRatio, StudyTables
from analysis.literature.threads import Divided, divided
from analysis.literature.today import TODAY, Beside, beside, defined, effects_of
from analysis.report.figures.style import Figure
from analysis.report.markup import for_markdown
from analysis.report.prose import DECLARED, workload
from frameworks.device import GPU

PITFALLS = (
    "A pitfall has no certificate that allows a comparison. Its ratio counts if it has the losses "
    "of the variant without it, and another time counts only if work was left after synchronise()."
)
WORKERS = (
    "Milliseconds of a mini-batch of two workers of one thread each and of one worker of two "
    "threads, and how many times as fast the two are. They share each mini-batch and average their "
    "gradients. [All numbers](parallel.csv)."
)
DIVIDED_COLUMNS = ["network", "framework", "two workers", "one worker", "speed-up", "proof"]
VERDICTS_BESIDE = (
    "TensorFlow's time over Torch's in Table 7 and over PyTorch's today, with as many threads, and "
    "whether it was or is slower. In 2016 a ratio counts only if it stays on its side of 1 when "
    f"rounding, and {ITSELF:g} times either way, are allowed for. Today's verdicts are those of "
    "the studies. Torch is not PyTorch, and some of today's batch sizes are smaller. "
    "[All numbers](then-and-now.csv)."
)
PAIR_COLUMNS = ["network", "threads", "2016, desktop", "2016, server", "today", "today, tuned"]
TIMING = (
    "What the files of the authors' repository "
    "([hclhkbu/dlbench](https://github.com/hclhkbu/dlbench) at `78d8a41`) do with the times of "
    "steps. All are of grade B: they are in that repository, and no number shows that they ran."
)
GRADES = (
    "Grade A: the files say so, and the published numbers show it. B: the files say so. C: the "
    "numbers alone show it; the files leave open what was timed."
)
NO_STUDY: ClaimVerdict = "needs a study that has not been run"
NO_HARDWARE: ClaimVerdict = "needs hardware that is not here"
DECIDES = {NO_STUDY: "study", NO_HARDWARE: "needs"}


def page(
    judgements: Sequence[Judgement],
    studies: Sequence[StudyTables],
    figures: Iterable[tuple[str, Figure]],
) -> str:
    """`figures`: with the name of the file that has all their numbers."""
    verdicts: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)
    own = {name: [one for one in judgements if one.verdict == name] for name in verdicts}
    parts = ["# Claims of the literature, judged", f"**{headline(judgements)}**"]
    numbers = [[name, str(len(own[name]))] for name in verdicts if own[name] or name != NO_STUDY]
    parts += [markdown_table(["verdict", "claims"], numbers)]
    parts += [
        f"{measured(studies)} A rule judges each claim; no verdict is written by hand. A ratio "
        "counts only if both sides have a certificate. Its interval is at 95 %, and its test is "
        "corrected for all tests of the study (Holm). A ratio of ratios takes their errors as "
        "independent. "
        "[What was claimed and what was measured](../../docs/literature.md) is a page of its own."
    ]
    if any(row.pair.axis == "variant" for one in judgements for row in one.deciding):
        parts += [PITFALLS]
    for file, figure in figures:
        caption = f"**{figure.finding}** {figure.caption} [All numbers]({file})."
        parts += [drawing(figure), caption]
    parts += ["## How each tool's steps were averaged", TIMING]
    columns = ["tool", "networks", "rule", "file", "what it does"]
    parts += [markdown_table(columns, map(rule, rows("timing.csv")))]
    parts += ["## What was trained under other names", GRADES]
    columns = ["tool", "network", "grade", "file", "what it says"]
    parts += [markdown_table(columns, map(definition, rows("definitions.csv")))]
    if pairs := beside(studies, effects_of(defined(studies))):
        parts += ["## TensorFlow over (Py)Torch, then and now", VERDICTS_BESIDE]
        parts += [markdown_table(PAIR_COLUMNS, then_and_now(pairs))]
    if shared := divided(studies):
        parts += ["## Two workers instead of two threads", WORKERS]
        parts += [markdown_table(DIVIDED_COLUMNS, map(shown, shared))]
    for name in filter(own.__getitem__, verdicts):
        parts += [f"## {name[0].upper()}{name[1:]}", *remarks(name, own[name], studies)]
        columns = ["", "claim", "judged as", DECIDES.get(name, "what decides"), "published"]
        parts += [markdown_table(columns, map(cells, own[name]))]
    return "\n\n".join([*parts, *sources()]) + "\n"


def rule(row: dict[str, str]) -> list[str]:
    return [row["tool"], row["networks"], row["statistic"], where(row), row["says"]]


def definition(row: dict[str, str]) -> list[str]:
    return [row["tool"], row["network"], row["grade"], where(row), row["says"]]


def where(row: dict[str, str]) -> str:
    return f"`{row['file']}`, {row['lines'].replace(' ', ', ')}"


def shown(row: Divided) -> list[str]:
    return [
        workload(row.network),
        title(row.framework),
        three(row.median_ms),
        three(row.one_worker_ms),
        with_ends(*(row.speedup or (None,) * 3)),
        row.certificate or first_of(row.reason),
    ]


def first_of(reasons: str) -> str:
    """The first reason, without the contender that stands in the same row."""
    reason, _, _ = reasons.partition("; ")
    _, refused, why = reason.partition(" refused: ")
    return f"refused: {why}" if refused else reason


def then_and_now(rows: Iterable[Beside]) -> Iterator[list[str]]:
    """By network and number of threads: the two processors of 2016, and today's variants."""
    for own in grouped(((row.network, row.threads), row) for row in rows).values():
        then = {row.device: row for row in own}
        now = {row.variant: row for row in own}
        yield [
            own[0].network,
            str(own[0].threads),
            *(then_of(then[name]) if name in then else "" for name in CPUS),
            *(now_of(now[name]) if name in now else "" for name in TODAY),
        ]


def then_of(row: Beside) -> str:
    """`5.31 slower`, `5.81 slower (doubtful)`"""
    return f"{three(row.then.ratio)} {row.then_verdict}" + f" ({row.note})" * bool(row.note)


def now_of(row: Beside) -> str:
    mark = f" {DECLARED}" * bool(row.declared)
    return f"{with_ends(*row.ratio)}{mark} {row.verdict}"


def drawing(figure: Figure) -> str:
    """With a version for dark pages, as in the README."""
    dark = f'media="(prefers-color-scheme: dark)" srcset="{figure.name}-dark.svg"'
    image = f'<img alt="{figure.alt}" src="{figure.name}.svg">'
    return f"<picture>\n  <source {dark}>\n  {image}\n</picture>"


def headline(judgements: Sequence[Judgement]) -> str:
    found = Counter(one.verdict for one in judgements)
    hold, fall, open_ = (found[name] for name in get_args(ClaimVerdict)[:3])
    return (
        f"{hold + fall + open_} of {count(len(judgements), 'claim')} are judged: {hold} "
        f"{'holds' if hold == 1 else 'hold'} here, {fall} {'does' if fall == 1 else 'do'} not, "
        f"{open_} {'is' if open_ == 1 else 'are'} undecided."
    )


def measured(studies: Sequence[StudyTables]) -> str:
    if not studies:
        return "No study was given, so calculations alone decide."
    named = listing(map(linked, studies))
    machines = dict.fromkeys(row.machine for one in studies for row in one.ratios)
    which = "studies" if len(studies) > 1 else "study"
    on = for_markdown(listing(machines))
    return f"Measured ratios come from the {which} {named}, on {on}."


def remarks(
    name: ClaimVerdict, own: Sequence[Judgement], studies: Sequence[StudyTables]
) -> list[str]:
    """The questions of the studies that claims still need, and why there was no GPU."""
    if name not in DECIDES:
        return []
    asked = {word for one in own for word in one.claim.studies}
    questions = [
        f"- `{row['study']}`: {row['question']}"
        for row in rows("studies.csv")
        if row["study"] in asked
    ]
    return ["\n".join(questions), *([of_gpus(studies)] if name == NO_HARDWARE and studies else [])]


def of_gpus(studies: Sequence[StudyTables]) -> str:
    with_one = listing(linked(one) for one in studies if GPU.name in one.hardware)
    said = f"Only {with_one} had a GPU. Elsewhere " if with_one else "No study had a GPU: "
    reasons = dict.fromkeys(filter(None, (one.missing.get(GPU.name) for one in studies)))
    why = for_markdown("; ".join(reasons) or "none was looked for")
    return f"{said}{why}. No machine here has the other hardware that rows name."


def linked(study: StudyTables) -> str:
    return f"[{study.name}](../{quote(study.name)}/report.md)"


def cells(one: Judgement) -> list[str]:
    own = one.claim
    decided = "; ".join(filter(None, [*map(said, one.deciding), one.why]))
    return [own.id, f"“{own.quote}” ({own.source})", own.statement, decided, own.published]


def said(row: MeasuredRatio) -> str:
    """`MNIST CNN, default, 1 thread: PyTorch over TensorFlow 2.13 (2.05 to 2.23)`"""
    ratio, mark, side = with_ends(*row.estimate.ends), f" {DECLARED}" * row.declared, row.id
    one, over, about = title(row.pair.one), title(row.pair.over), workload(side.workload)
    if row.pair.axis == "workload":
        one, over, about = workload(row.pair.one), workload(row.pair.over), title(side.framework)
    if row.pair.axis == "threads":
        where = f"{title(side.framework)} on {about}, {side.variant}"
        return f"{where}: {one} threads over {over} {ratio}"
    if row.pair.axis == GAIN:
        where = f"{about}, {side.variant}: two threads over one"
        return f"{where}, {one}'s ratio over {over}'s {ratio}{mark}"
    if row.pair.over == ELSEWHERE:
        pair = " over ".join(map(title, row.pair.axis.split(" over ")))
        where = (
            f"{side.variant}, {count(side.threads, 'thread')}: {pair} on {workload(row.pair.one)}"
        )
        return f"{where} over {side.workload} {ratio}{mark}"
    own = side.variant
    if row.pair.axis == "variant":
        one, own = row.pair.one.removeprefix("trap-"), title(side.framework)
    if row.pair.axis in (PART, POSITION):
        one, over, about = row.pair.one, row.pair.over, f"{about}, {title(side.framework)}"
    if row.pair.axis in WORDS:
        one, over = sides(row.pair)
        about = f"{about}, {title(side.framework)}"
    where = f"{about}, {own}, {count(side.threads, 'thread')}"
    return f"{where}: {one} over {over} {ratio}{mark}"


def sources() -> list[str]:
    return [
        f"{DECLARED} The pair differs in a declared way: it is not proven to compute the same.",
        "## Sources",
        "\n".join(
            f"- {row['id']}: "
            + (f"[{row['title']}]({row['address']})" if row["address"] else row["title"])
            for row in rows("sources.csv")
        ),
    ]
