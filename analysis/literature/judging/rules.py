"""From ratios to a verdict: the few functions that judge every claim about times.

A rule is text, as in `data/claims.csv`: `FASTER(10)`, `all rows FASTER(1/0.55)`, `EXISTS slower`,
`not FASTER(2)`, `no row FASTER(1/0.97)`, `REACHES(1.9)`, `EXISTS DIFFERS(3 %)`. It does not judge
claims with any other rule.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.literature.studies import MeasuredRatio
from analysis.stats.inference import holm

RULE = re.compile(
    r"(?:(?P<quantifier>all rows|no row|EXISTS|not) )?"
    r"(?:FASTER\((?P<times>[\d.]+)(?:/(?P<by>[\d.]+))?\)|REACHES\((?P<reach>[\d.]+)\)|"
    r"DIFFERS\((?P<margin>[\d.]+) %\)|(?P<slower>slower))(?P<median> of the median)?"
)
NEGATED = {"not": "all rows", "no row": "EXISTS"}
LEVEL = 0.05  # of all tests of a study together


@dataclass(frozen=True)
class Rule:
    """`limit`: the ratio that a faster side must stay below. `reach`: the ratio that the interval
    must include or lie above. `margin`: how far from 1 the whole interval must lie, on either side.
    Without any of these, the side must be slower. `median`: the rule is about the median over
    networks, in each framework."""

    quantifier: str
    limit: float | None
    reach: float | None = None
    median: bool = False
    margin: float | None = None

    def nearest(self, ratio: float) -> float:
        """The ratio that a test must exclude; for a margin, the end that is nearer to `ratio`."""
        if self.margin:
            ends = (1 - self.margin, 1 + self.margin)
            return min(ends, key=lambda end: abs(math.log(ratio / end)))
        return self.limit or 1.0


def rule(text: str) -> Rule | None:
    """None if the rule is of another kind."""
    found = RULE.fullmatch(text)
    if not found:
        return None
    if found["reach"]:
        return Rule(found["quantifier"] or "all rows", None, float(found["reach"]))
    if found["margin"]:
        margin = float(found["margin"]) / 100
        return Rule(found["quantifier"] or "all rows", None, margin=margin)
    limit = None if found["slower"] else float(found["by"] or 1) / float(found["times"])
    return Rule(found["quantifier"] or "all rows", limit, median=bool(found["median"]))


@dataclass(frozen=True)
class Answer:
    """A rule on one row. `adjusted` is the p of the difference from the rule's limit, by Holm over
    all tests of the row's study."""

    rule: Rule
    row: MeasuredRatio
    adjusted: float = 1.0

    @property
    def holds(self) -> bool | None:
        """None if the row cannot tell."""
        row, limit = self.row, self.rule.limit
        if not row.usable:
            return None
        if self.rule.reach:
            return row.known.high >= self.rule.reach
        if self.rule.margin:
            return None if self.adjusted > LEVEL else self.outside(self.rule.margin)
        if limit in (None, 1.0) and row.estimate.verdict == "equivalent":
            return False
        if self.adjusted > LEVEL:
            return None
        if limit is None:
            return {"slower": True, "faster": False}.get(row.estimate.verdict)
        if limit == 1.0:
            return {"faster": True, "slower": False}.get(row.estimate.verdict)
        _, low, high = row.known
        return True if high < limit else False if low > limit else None

    def outside(self, margin: float) -> bool | None:
        """Whether the whole interval is further than this from 1, or nearer."""
        _, low, high = self.row.known
        if high < 1 - margin or low > 1 + margin:
            return True
        return False if low > 1 - margin and high < 1 + margin else None


def answers(asked: Sequence[tuple[Rule, MeasuredRatio]]) -> list[Answer]:
    """All tests of one study, corrected together."""
    usable = [row.usable for _, row in asked]
    p = [row.p(one.nearest(row.known.ratio)) for one, row in asked if row.usable]
    adjusted = iter(holm(p)) if p else iter(())
    return [
        Answer(one, row, next(adjusted) if use else 1.0)
        for (one, row), use in zip(asked, usable, strict=True)
    ]


def most(said: Sequence[bool | None]) -> bool | None:
    """What holds for the median of the rows: what more than half of them say."""
    return next((one for one in (True, False) if 2 * said.count(one) > len(said)), None)


def together(quantifier: str, said: Sequence[bool | None], complete: bool) -> bool | None:
    """What the rows say together. `complete`: whether every row that the claim is about is there.
    If not, only a counterexample to "all", or an example for "exists", decides."""
    if quantifier in NEGATED:
        denied = together(NEGATED[quantifier], said, complete)
        return None if denied is None else not denied
    if quantifier == "EXISTS":
        if True in said:
            return True
        return False if complete and said and set(said) == {False} else None
    if False in said:
        return False
    return True if complete and said and None not in said else None
