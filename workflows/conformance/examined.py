"""One subject held against all rules, each tried when it is first asked for."""

from workflows.conformance.outcome import Finding, Outcome, does_not_apply
from workflows.conformance.rules import RULES
from workflows.conformance.subject import Subject


class Examined:
    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.findings: dict[str, Finding] = {}

    def outcome(self, name: str) -> Outcome:
        return Outcome(self.subject.name, name, RULES[name].must, self.finding(name))

    def finding(self, name: str) -> Finding:
        if name not in self.findings:
            self.findings[name] = self.tried(name)
        return self.findings[name]

    def tried(self, name: str) -> Finding:
        rule = RULES[name]
        for before in rule.after:
            found = self.finding(before)
            if found.status == "broken" or not found.tried:
                return does_not_apply(f"not tried before {before!r} holds", tried=False)
        self.subject.say(name)
        return rule.tried(self.subject)
