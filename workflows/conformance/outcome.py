"""What a rule says: that it holds, is broken, or does not apply, and what was seen."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["holds", "broken", "does not apply"]


@dataclass(frozen=True)
class Finding:
    """What one rule found. `seen` are numbers and names; `mend`, of a broken one, says what to
    do. What was refused by the adapter, as it may, is in `notes`. `tried` is false where another
    rule must hold first."""

    status: Status
    seen: str
    mend: str = ""
    notes: tuple[str, ...] = ()
    tried: bool = True


@dataclass(frozen=True)
class Outcome:
    """A finding with the rule that it is about, and whom."""

    contender: str
    rule: str
    must: str
    finding: Finding

    def as_dict(self) -> dict[str, Any]:
        own = {"contender": self.contender, "rule": self.rule, "must": self.must}
        return {**own, **asdict(self.finding)}

    def paragraph(self) -> str:
        """For somebody who has to mend it."""
        lines = [f"must hold  {self.must}", f"seen       {self.finding.seen}"]
        return "\n".join([*lines, f"mend       {self.finding.mend}"])


def holds(seen: str, *notes: str) -> Finding:
    return Finding("holds", seen, notes=notes)


def broken(seen: str, mend: str, *notes: str) -> Finding:
    return Finding("broken", seen, mend, notes)


def does_not_apply(reason: str, tried: bool = True) -> Finding:
    return Finding("does not apply", reason, tried=tried)
