"""The rules of conformance as pytest tests, for packages that bring an adapter of their own.

A test file in full:

    from workflows.conformance.testing import Conformance

    class TestMine(Conformance):
        framework = "mine"

The class has one test for each variant and rule. A test fails with what must hold, what was seen
and how to mend it, and is skipped with the reason if its rule does not apply. Put a rule that is
knowingly broken into `known`, with the reason: its test is expected to fail, and fails once the
rule holds.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest

from frameworks.device import HOST
from frameworks.registry import framework
from workflows.conformance.engine import Examined
from workflows.conformance.rules import RULES
from workflows.conformance.subject import Subject
from workflows.records.limits import TIMEOUT_S


class Conformance:
    """Every rule for `framework`.

    Attributes:
        variants: all but pitfalls and parts of a step unless given.
        workloads: to certify, in the form of a study's configuration; by default the small ones.
        isolated: False tries the rules in pytest's own process, which is quicker and lets a
            debugger stop in the adapter. Rules about processes are then skipped.
        known: reasons by rule, or by variant and rule.
    """

    framework: ClassVar[str]
    variants: ClassVar[tuple[str, ...]] = ()
    device: ClassVar[str] = HOST.name
    threads: ClassVar[int] = 1
    quick: ClassVar[bool] = True
    isolated: ClassVar[bool] = True
    timeout_s: ClassVar[float] = TIMEOUT_S
    workloads: ClassVar[Mapping[str, Any] | None] = None
    known: ClassVar[Mapping[str | tuple[str, str], str]] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "rule" not in metafunc.fixturenames:
            return
        described = framework(self.framework)
        able = [name for name, own in described.variants.items() if own.ranked]
        rules = [name for name, rule in RULES.items() if self.isolated or not rule.isolated]
        pairs = [(variant, rule) for variant in self.variants or able for rule in rules]
        metafunc.parametrize(
            ("variant", "rule"), pairs, ids=[f"{variant}-{rule}" for variant, rule in pairs]
        )

    @pytest.fixture(scope="class")
    @classmethod
    def subjects(cls) -> Iterator[dict[str, Examined]]:
        """The subject of each variant; a rule is tried once, when it is first asked for."""
        with ExitStack() as stack:
            made = Made(stack, cls)
            yield made

    def test_rule(
        self, subjects: dict[str, Examined], variant: str, rule: str, request: pytest.FixtureRequest
    ) -> None:
        examined = subjects[variant]
        if reason := self.known.get(rule) or self.known.get((variant, rule)):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
        outcome = examined.outcome(rule)
        if outcome.finding.status == "does not apply":
            pytest.skip(outcome.finding.seen)
        if outcome.finding.status == "broken":
            pytest.fail(f"{outcome.contender}: {rule}\n{outcome.paragraph()}", pytrace=False)


class Made(dict[str, Examined]):
    """Subjects by variant, made when needed; a test is skipped if its subject cannot run here."""

    def __init__(self, stack: ExitStack, asked: type[Conformance]) -> None:
        self.stack, self.asked = stack, asked

    def __missing__(self, variant: str) -> Examined:
        asked = self.asked
        subject = Subject(
            framework(asked.framework),
            variant,
            asked.device,
            asked.threads,
            asked.workloads,
            asked.quick,
            timeout_s=asked.timeout_s,
            isolated=asked.isolated,
        )
        self.stack.enter_context(subject)
        if missing := subject.missing():
            pytest.skip(missing)
        self[variant] = Examined(subject, RULES)
        return self[variant]
