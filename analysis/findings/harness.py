"""What the harness itself costs: the time of a framework that computes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from analysis.data.processes import by_benchmark, processes
from analysis.data.results import Machine
from analysis.findings.contenders import ContenderLine, steady
from analysis.findings.fairness.certificates import Certificates
from analysis.stats.intervals import Interval
from workflows.records.schema import NOOP


@dataclass(frozen=True)
class HarnessLine:
    """A row of harness.csv: the time of a mini-batch without any computation, as in
    contenders.csv, and its share of the time of the workload's fastest contender (None if no
    contender has a median). Contenders that do not wait for their work do not count."""

    workload: str
    replicates: int
    batches: int
    time: Annotated[Interval, "median_ms low_ms high_ms"]
    q25_ms: float
    q75_ms: float
    fastest: str
    share: float | None


def harness_lines(machine: Machine, contenders: Sequence[ContenderLine]) -> list[HarnessLine]:
    idle = machine.uncompared.of(NOOP)
    if idle.empty:
        return []
    found = {one.workload: rows for one, rows in by_benchmark(processes(idle)).items()}
    certificates = Certificates(machine)
    waiting = [c for c in contenders if certificates.waits(c.id)]
    lines = []
    for workload in machine.workloads:
        if workload not in found:
            continue
        rows = found[workload]
        times = steady(rows, machine.study.confidence)
        own = [(c.time.value, c.id) for c in waiting if c.id.workload == workload and c.time.value]
        least, fastest = min(own, key=lambda pair: pair[0], default=(None, None))
        lines.append(
            HarnessLine(
                workload=workload,
                replicates=len(rows),
                batches=int(rows["batches"].sum()),
                **times,
                fastest=f"{machine.title(fastest.framework)} {fastest.variant}" if fastest else "",
                share=times["time"].value / least if least else None,
            )
        )
    return lines
