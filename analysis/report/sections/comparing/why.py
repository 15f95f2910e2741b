"""Why a tuned variant is faster than its framework's default: only recorded differences."""

import re
from collections.abc import Iterator, Mapping

from analysis.data.results import DEFAULT, TUNED, BenchmarkId
from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.findings.speed.use import USE, UseLine
from analysis.format import title
from analysis.report.layout import Blocks, Bullets, Chapter, Paragraph, Rich, Section
from analysis.report.prose import DECLARED, place, share, two
from analysis.report.sections.comparing.comparisons import declared

MANY = 1000  # page faults of a mini-batch; each costs the kernel a tenth of a microsecond or more
FEW = 0.1  # of these, in the other variant
# Settings that change how the same mathematics is done, in words.
SPEED = {
    "freed_memory": "freed memory",
    "huge_pages": "huge pages",
    "weights_memory": "memory of the weights",
    "layout": "layout",
    "max_pooling": "pooling",
    "relu_and_pool": "ReLU and pooling",
    "optimiser": "optimiser",
    "compilation": "compilation",
    "blas": "matrix products",
}
Settings = Mapping[BenchmarkId, Mapping[str, str]]


def causes(findings: Findings) -> Iterator[str]:
    """For each workload, framework and device with a faster tuned variant: the recorded
    differences, with the fewest threads."""
    use = {row.id: row for row in findings.machine.matched_rows(USE.of(findings))}
    settings: dict[BenchmarkId, dict[str, str]] = {}
    for row in findings.settings:
        settings.setdefault(row.id, {})[row.setting] = row.value
    seen = set()
    for pair in findings.pairs:
        key = (pair.id.workload, pair.id.framework, pair.id.device)
        sides = (pair.base.variant, pair.id.variant)
        faster = pair.axis == "variant" and pair.estimate.verdict == "faster"
        if not faster or sides != (DEFAULT, TUNED) or key in seen:
            continue
        seen.add(key)
        found, faults = list(differences(pair, settings)), fewer_faults(pair, use)
        differ = f"What differs: {'; '.join(found)}." if found else ""
        if differ or faults:
            yield " ".join(filter(None, (gain(pair), differ, faults, limit(pair, use))))


def gain(pair: PairLine) -> str:
    """`JAX, MLP, 1 thread: tuning takes off 54 %.`"""
    off = share(1 - (pair.estimate.ratio or 1.0))
    mark = f" {DECLARED}" * declared(pair)
    return f"{title(pair.id.framework)}, {place(pair.id)}: tuning takes off {off}{mark}."


def differences(pair: PairLine, settings: Settings) -> Iterator[str]:
    """`layout NHWC instead of NCHW`, for each setting that differs."""
    slow, fast = settings.get(pair.base, {}), settings.get(pair.id, {})
    for name, words in SPEED.items():
        if name in slow and name in fast and slow[name] != fast[name]:
            yield f"{words} {' instead of '.join(apart(fast[name], slow[name]))}"


def apart(one: str, other: str) -> tuple[str, str]:
    """Two values; for two calls like `Adam(foreach=None, fused=True)`, only what differs."""
    calls = [re.fullmatch(r"[\w.]+\.(\w+)\((.*)\)", value) for value in (one, other)]
    if not (calls[0] and calls[1]) or calls[0][1] != calls[1][1]:
        return one, other
    mine, theirs = (call[2].split(", ") for call in calls if call)
    return (
        f"{calls[0][1]} with {', '.join(each for each in mine if each not in theirs)}",
        ", ".join(each for each in theirs if each not in mine and not each.endswith("=None"))
        or "without",
    )


def fewer_faults(pair: PairLine, use: Mapping[BenchmarkId, UseLine]) -> str:
    """Page faults, if the slower one has many and the faster one few."""
    slow, fast = use.get(pair.base), use.get(pair.id)
    many = (slow.faults or 0.0) if slow else 0.0
    few = fast.faults if fast else None
    if few is None or many < MANY or few > FEW * many:
        return ""
    return f"Page faults in a mini-batch: {two(many)} before, {two(few)} after."


def limit(pair: PairLine, use: Mapping[BenchmarkId, UseLine]) -> str:
    """How far both variants are from the machine's limit; "" if that was not recorded."""
    slow, fast = use.get(pair.base), use.get(pair.id)
    if not (slow and fast and slow.limit.share and fast.limit.share):
        return ""
    return (
        f"Share of the machine's limit ({fast.limit.binds}): {share(slow.limit.share)} before, "
        f"{share(fast.limit.share)} after."
    )


def why(chapter: Chapter) -> Blocks:
    found = list(causes(chapter.findings))
    apart = APART if found and not chapter.findings.steps else ""
    return [Paragraph(Rich(apart), style="soft"), Bullets(found)]


def inside(chapter: Chapter) -> str:
    return (
        "What each framework's tuned variant does otherwise than its default: settings, page "
        "faults, and the share of the machine's limit."
    )


APART = (
    "Here are all recorded differences that can change the speed. What each of them gains was "
    "measured one after another, in the study `config/ablation.yaml`: "
    "[what it found](../../docs/why.md)."
)
SECTION = Section("Why tuned is faster", why, inside=inside, in_markdown=True)
