"""A rule, and how it is tried."""

from collections.abc import Callable
from dataclasses import dataclass

from frameworks.contract import Unavailable
from workflows.conformance.outcome import Finding, broken, does_not_apply
from workflows.conformance.subject import Subject
from workflows.worker.process import WorkerDied


@dataclass(frozen=True)
class Rule:
    """`must` is what must hold, in a sentence. `after` are the rules without which this one
    would only say the same again: it is not tried where one of them is broken."""

    name: str
    must: str
    check: Callable[[Subject], Finding]
    after: tuple[str, ...] = ()

    def tried(self, subject: Subject) -> Finding:
        """What it finds; an adapter that fails, hangs or ends its process breaks the rule."""
        try:
            return self.check(subject)
        except WorkerDied as death:
            return broken(
                f"the adapter's process failed while it was tried: {death.located}",
                "find where the adapter raises or ends: what it has not, it refuses in "
                "Adapter.trainer with NotImplementedError; all else must run",
            )
        except Unavailable as reason:
            return does_not_apply(f"not supported: {reason}")
