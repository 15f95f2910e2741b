"""Each claim of the literature, and the verdict that tables give it.

`data/claims.csv` has each claim and the rule that judges it, `data/rules.csv` the rows of a study's
tables that the rule is about. No verdict is written by hand. A row counts only if its contenders
have certificates; studies.py says what counts for a pitfall.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from analysis.data.results import grouped
from analysis.format import listing, title
from analysis.literature.judging.arithmetic import CALCULATIONS, MEASURED
from analysis.literature.judging.devices import (
    STEPS_ALONE,
    STEPS_MOVED,
    TREND,
    both_devices,
    epochs,
    selected,
    sides,
    trends,
)
from analysis.literature.judging.double_ratios import DOUBLING, TWICE, double_ratios
from analysis.literature.judging.rules import NEGATED, Answer, Rule, answers, most, rule, together
from analysis.literature.published.table7 import rows
from analysis.literature.studies import (
    GRADIENTS,
    LOSS,
    PART,
    STEP,
    WORKERS,
    MeasuredRatio,
    Pair,
    StudyTables,
)
from analysis.report.prose import workload
from frameworks.device import GPU, HOST

ClaimVerdict = Literal[
    "holds here",
    "does not hold here",
    "cannot tell",
    "needs a study that has not been run",
    "needs hardware that is not here",
]
DECIDED: dict[bool | None, ClaimVerdict] = {
    True: "holds here", False: "does not hold here", None: "cannot tell"
}  # fmt: skip
# Claims with a rule that rules.py cannot read. Claims about the parts of a step are shares in
# `data/claims.csv`. An update below 10 % of a step means that the step takes less than 1/0.9 of the
# time of loss and gradients; gradients below 50 % of these mean less than twice the time of the
# loss.
BACKWARD, UPDATE = Pair(PART, GRADIENTS, LOSS), Pair(PART, STEP, GRADIENTS)
ASKED: Mapping[str, Sequence[tuple[Pair, Rule]]] = {
    "C01": ((STEPS_ALONE, Rule("all rows", 1.0)), (STEPS_MOVED, Rule("all rows", 1.0))),
    "C13": ((TREND, Rule("all rows", 1.0)),),
    "C14": ((TWICE, Rule("all rows", 1.5)), (DOUBLING, Rule("all rows", 1.0))),
    "C54": ((UPDATE, Rule("all rows", 1 / 0.9)), (BACKWARD, Rule("all rows", 1 / 0.5))),
    "C55": ((BACKWARD, Rule("all rows", 5.0)),),
    "C59": ((WORKERS, Rule("all rows", 1.03)),),
}
FROM_STUDIES = {**MEASURED, "both devices": both_devices}
UNPLANNED = "none planned"  # instead of a study
# The parts of these claims that no table decides.
OPEN = {
    "C16": "pinned memory was not measured",
    "C55": "(a) and (c) were not measured",
    "C59": "two GPUs were not measured",
}
# What these claims need beside the hardware, because no study has it yet.
UNBUILT = {
    "C26": "the published loop, without a fence in it",
    "C28": "a contender that CUDA events time",
    "C49": "an input pipeline on the device under test",
}


@dataclass(frozen=True)
class Claim:
    """`quote`: the source's words. `statement`: what is judged. `published`: the figure of the
    source or of Table 7.

    `study`, `hardware`: what has to be measured, and on what. `calculation`: the name of the
    calculation that decides it instead, some from the times of studies. `pair` and the last five:
    the ratios that the rule is about (`MeasuredRatio`); an empty tuple means any. `threads` may
    also be words (devices.py).
    """

    id: str
    source: str
    quote: str
    statement: str
    rule: str
    published: str
    study: str
    hardware: str
    calculation: str
    pair: Pair | None
    workloads: tuple[str, ...]
    variants: tuple[str, ...]
    devices: tuple[str, ...]
    threads: tuple[str, ...]
    frameworks: tuple[str, ...]

    @property
    def studies(self) -> list[str]:
        return self.study.split(", ")

    @property
    def planned(self) -> bool:
        return self.study != UNPLANNED

    def about(self, row: MeasuredRatio) -> bool:
        named = (
            (self.workloads, row.id.workload),
            (self.variants, row.id.variant),
            (self.devices, row.id.device),
            (self.frameworks, row.id.framework),
        )
        return all(not asked or value in asked for asked, value in named)

    def complete(self, found: Sequence[MeasuredRatio]) -> bool:
        """Whether there is a row for each workload and variant that the claim names, and one for
        each framework."""
        there = {(row.id.workload, row.id.variant) for row in found}
        variants = self.variants or tuple({row.id.variant for row in found})
        every = all((name, variant) in there for name in self.workloads for variant in variants)
        return bool(found) and every and {*self.frameworks} <= {row.id.framework for row in found}


@cache
def claims() -> tuple[Claim, ...]:
    selections = {row["claim"]: row for row in rows("rules.csv")}
    return tuple(claim(row, selections[row["id"]]) for row in rows("claims.csv"))


def claim(row: dict[str, str], selection: dict[str, str]) -> Claim:
    axis, one, over = (selection[key] for key in Pair._fields)
    workloads, variants, devices, threads, frameworks = (
        tuple(selection[key].split())
        for key in ("workloads", "variants", "devices", "threads", "frameworks")
    )
    return Claim(
        row["id"],
        row["source"],
        row["quote"],
        row["statement"],
        row["rule"],
        row["published"],
        selection["study"],
        selection["hardware"],
        selection["calculation"],
        Pair(axis, one, over) if axis else None,
        workloads,
        variants,
        devices,
        threads,
        frameworks,
    )


@dataclass(frozen=True)
class Judgement:
    """A verdict, why, and the rows that decide it: one for each variant, or for each framework if
    the pair is of variants."""

    claim: Claim
    verdict: ClaimVerdict
    why: str
    deciding: tuple[MeasuredRatio, ...] = ()


def judge(studies: Sequence[StudyTables]) -> list[Judgement]:
    """Every claim, from these studies."""
    found: dict[str, list[Answer]] = {one.id: [] for one in claims()}
    for study in studies:
        further = (*double_ratios(study.ratios), *epochs(study), *trends(study))
        study = replace(study, ratios=(*study.ratios, *further))
        asked = [
            (one.id, own, row)
            for one in claims()
            for pair, own in tests(one)
            for row in selected(one.threads, [*filter(one.about, study.of(pair))], study)
        ]
        said = answers([(own, row) for _, own, row in asked])
        for (name, _, _), answer in zip(asked, said, strict=True):
            found[name].append(answer)
    return [judgement(one, found[one.id], studies) for one in claims()]


def tests(one: Claim) -> Sequence[tuple[Pair, Rule]]:
    """The pairs that a claim is about, with their rules."""
    own = rule(one.rule)
    return ASKED.get(one.id) or ([(one.pair, own)] if one.pair and own else [])


def judgement(one: Claim, found: Sequence[Answer], studies: Sequence[StudyTables]) -> Judgement:
    if one.calculation in CALCULATIONS:
        holds, says = CALCULATIONS[one.calculation]()
        rows = [answer for answer in found if answer.row.usable]
        # A time that is possible may still be that of another network.
        said = [row.holds for row in rows]
        own_network = together(rows[0].rule.quantifier, said, complete=True) if rows else None
        verdict = DECIDED[holds and own_network is not False]
        return Judgement(one, verdict, says, tuple(row.row for row in rows))
    if one.calculation and (decided := FROM_STUDIES[one.calculation](studies, one.study)):
        return Judgement(one, DECIDED[decided.holds], decided.says)
    if found:
        complete = one.complete([answer.row for answer in found]) and not absent(one, found)
        own, said = found[0].rule, [answer.holds for answer in found]
        if own.median:
            by_framework = frameworks(found)
            said = [most([row.holds for row in rows]) for rows in by_framework.values()]
        answer = together(own.quantifier, said, complete)
        open_ = lacking(one, found)
        if answer is False or (answer and not open_):
            return Judgement(one, DECIDED[answer], by_variant(found), deciding(found, answer))
        if complete or open_:
            reasons = dict.fromkeys(row.row.reason for row in found if row.row.reason)
            why = "; ".join([*reasons, *open_])
            nearest = deciding(found, answer) or deciding(found, True if open_ else None)
            return Judgement(one, "cannot tell", why, nearest)
    here = {HOST.name}.union(*(study.hardware for study in studies if study.name in one.studies))
    if one.hardware not in here:
        return Judgement(one, "needs hardware that is not here", lacks(one))
    return Judgement(one, "needs a study that has not been run", one.study + unbuilt(one))


def lacks(one: Claim) -> str:
    """`networks on a GPU`: which study on which hardware."""
    on = f"a {GPU.title}" if one.hardware == GPU.name else one.hardware
    named = f"{listing(one.studies)} on {on}" if one.planned else f"{on}; no study is planned"
    return named + unbuilt(one)


def unbuilt(one: Claim) -> str:
    return f"; not built yet: {UNBUILT[one.id]}" if one.id in UNBUILT else ""


def by_variant(found: Sequence[Answer]) -> str:
    """The verdict of each variant's own rows, or of each framework's if the pair is of variants, if
    they differ; "" for a median."""
    if found[0].rule.median:
        return ""
    groups = grouped((whose(answer), answer.holds) for answer in found)
    own = {
        name: DECIDED[together(found[0].rule.quantifier, said, complete=True)]
        for name, said in groups.items()
    }
    differ = len({*own.values()}) > 1
    return "; ".join(f"{title(name)} alone: {verdict}" for name, verdict in own.items()) * differ


def lacking(one: Claim, found: Sequence[Answer]) -> list[str]:
    """What was not measured: workloads and ratios of a claim in `ASKED`, and what is in `OPEN`."""
    there = {answer.row.id.workload for answer in found}
    names = [workload(name) for name in one.workloads if name not in there and one.id in ASKED]
    names += [" over ".join(sides(pair)) for pair in absent(one, found)]
    parts = [f"not measured: {listing(names)}"] if names else []
    return [*parts, OPEN[one.id]] if one.id in OPEN else parts


def absent(one: Claim, found: Sequence[Answer]) -> list[Pair]:
    """The pairs that a claim is about and that have no row."""
    there = {answer.row.pair for answer in found}
    return [pair for pair, _ in tests(one) if pair not in there]


def frameworks(found: Sequence[Answer]) -> dict[str, list[Answer]]:
    return grouped((answer.row.id.framework, answer) for answer in found)


def deciding(found: Sequence[Answer], holds: bool | None) -> tuple[MeasuredRatio, ...]:
    """For each variant, the row that decides: the farthest from the rule's limit, or the nearest if
    all must hold and do. For a median, each framework's median row. For pairs of variants, a row of
    each framework, even if it contradicts the verdict."""
    own = found[0].rule
    if own.median:
        measured = [
            sorted((row.row for row in rows if row.row.usable), key=lambda row: row.known.ratio)
            for rows in frameworks(found).values()
        ]
        return tuple(rows[len(rows) // 2] for rows in measured if rows)
    turned = holds is not None and own.quantifier in NEGATED
    wanted = not holds if turned else holds
    all_do = holds if own.quantifier == "no row" else wanted
    nearest = all_do is True and own.quantifier != "EXISTS"
    groups = grouped((whose(answer), answer) for answer in found if answer.row.usable)

    def distance(one: Answer) -> float:
        return abs(math.log(one.row.known.ratio / (one.rule.limit or 1.0)))

    chosen = min if nearest else max
    rows = (
        [one for one in group if one.holds is wanted] or [one for one in group if of_variants(one)]
        for group in groups.values()
    )
    return tuple(chosen(own_rows, key=distance).row for own_rows in rows if own_rows)


def whose(answer: Answer) -> str:
    row = answer.row.id
    return row.framework if of_variants(answer) else row.variant


def of_variants(answer: Answer) -> bool:
    return answer.row.pair.axis == "variant"
