"""The engine: a rule, what it finds, and one subject checked against all rules.

A rule says what must hold. Its finding says what was seen and, if the rule is broken, what to mend.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from frameworks.contract import Unavailable
from workflows.conformance.subject import Subject
from workflows.worker.process import WorkerDied

Status = Literal["holds", "broken", "does not apply"]


@dataclass(frozen=True)
class Finding:
    """What one rule found.

    `seen` has numbers and names. `mend` says how to mend a broken rule. `notes` are what the
    adapter refused, which it may. `tried` is false if another rule must hold first. `advice`: what
    is broken is nothing that a study asks for.
    """

    status: Status
    seen: str
    mend: str = ""
    notes: tuple[str, ...] = ()
    tried: bool = True
    advice: bool = False


def holds(seen: str, *notes: str) -> Finding:
    return Finding("holds", seen, notes=notes)


def broken(seen: str, mend: str, *notes: str) -> Finding:
    return Finding("broken", seen, mend, notes)


def advised(seen: str, mend: str) -> Finding:
    """A rule is broken in a part that no study asks for."""
    return Finding("broken", seen, mend, advice=True)


def does_not_apply(reason: str, tried: bool = True) -> Finding:
    return Finding("does not apply", reason, tried=tried)


@dataclass(frozen=True)
class Rule:
    """One rule of the contract.

    `must` says in a sentence what must hold. `after` names the rules that must hold first: while
    one of them is broken, this rule would only repeat what it says. `isolated` rules are about
    the process itself (threads, memory, GPUs) and need one of the adapter's own. A rule is `advice`
    if a study measures an adapter that breaks it all the same.
    """

    name: str
    must: str
    check: Callable[[Subject], Finding]
    after: tuple[str, ...] = ()
    isolated: bool = False
    advice: bool = False

    def tried(self, subject: Subject) -> Finding:
        """An adapter that fails, hangs or ends its process breaks the rule."""
        if self.isolated and not subject.isolated:
            return does_not_apply("needs a process of the adapter's own")
        try:
            return self.check(subject)
        except WorkerDied as death:
            return broken(
                f"the adapter's process failed while it was tried: {death.located}",
                "find where the adapter raises or ends: it refuses unsupported workloads in "
                "Adapter.trainer with NotImplementedError; everything else must run",
            )
        except Unavailable as reason:
            return does_not_apply(f"not supported: {reason}")


@dataclass(frozen=True)
class Outcome:
    """A finding, with its rule and the contender that it is about."""

    contender: str
    rule: str
    must: str
    finding: Finding
    advice: bool = False

    @property
    def status(self) -> Status | Literal["advice"]:
        return "advice" if self.advice and self.finding.status == "broken" else self.finding.status

    def as_dict(self) -> dict[str, Any]:
        own = {"contender": self.contender, "rule": self.rule, "must": self.must}
        return {**own, **asdict(self.finding), "status": self.status}

    def paragraph(self) -> str:
        """For the person who has to mend the adapter."""
        lines = [f"must hold  {self.must}", f"seen       {self.finding.seen}"]
        return "\n".join([*lines, f"mend       {self.finding.mend}"])


class Examined:
    """One subject and all rules; a rule is tried when it is first asked for."""

    def __init__(self, subject: Subject, rules: Mapping[str, Rule]) -> None:
        self.subject, self.rules = subject, rules
        self.findings: dict[str, Finding] = {}

    def outcome(self, name: str) -> Outcome:
        rule, found = self.rules[name], self.finding(name)
        return Outcome(self.subject.name, name, rule.must, found, rule.advice or found.advice)

    def finding(self, name: str) -> Finding:
        if name not in self.findings:
            self.findings[name] = self.tried(name)
        return self.findings[name]

    def tried(self, name: str) -> Finding:
        for before in self.rules[name].after:
            found = self.finding(before)
            if (found.status == "broken" and not found.advice) or not found.tried:
                return does_not_apply(f"not tried before {before!r} holds", tried=False)
        self.subject.say(name)
        return self.rules[name].tried(self.subject)
