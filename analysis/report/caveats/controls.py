"""The caveat about controls that came out wrong."""

from collections.abc import Iterator, Sequence

from analysis.data.results import Machine
from analysis.findings.controls import ControlLine, of_outcome
from analysis.findings.findings import Findings
from analysis.format import alike, listing, percent
from analysis.report.layout import Caveat, warning
from analysis.report.sections.controls import place, rough


def wrong(findings: Findings) -> Iterator[Caveat]:
    """The wrong controls, and the consequences for the conclusions."""
    if rows := of_outcome(findings.controls, "wrong"):
        yield warning("Controls wrong", conclusion(findings.machine, rows))


def conclusion(machine: Machine, wrong: Sequence[ControlLine]) -> str:
    workloads = dict.fromkeys(row.id.workload for row in wrong)
    follows = listing(unbelievable([r for r in wrong if r.id.workload == w]) for w in workloads)
    sees = ["sees differences that are not there"] * any(not row.spin for row in wrong)
    sees += ["gets differences wrong that are there"] * any(row.spin for row in wrong)
    return (
        f"{'; '.join(mistaken(machine, row) for row in wrong)}. So the harness or the machine "
        f"{listing(sees)}. What follows: do not believe {follows}, however sure it is said to be "
        "below."
    )


def unbelievable(wrong: Sequence[ControlLine]) -> str:
    """The ratios of one workload that the reader should not trust. If a control trained something
    else, the size of its error is unknown."""
    where = f"in {wrong[0].id.workload}"
    if any(row.reason for row in wrong):
        return f"any difference {where}"
    return f"any difference of {rough(max(row.furthest for row in wrong))} or less {where}"


def mistaken(machine: Machine, row: ControlLine) -> str:
    ratio, low, high = alike(*row.estimate.ends)
    what = f"slowed by {percent(row.spin)}" if row.spin else "against itself"
    text = f"{place(row)} {what}"
    if low:
        interval = f"{percent(machine.study.confidence)} interval {low} to {high}"
        text += f" took {ratio} times as long ({interval}) instead of {row.truth or 1:g}"
    return f"{text} ({row.reason})" if row.reason else text
