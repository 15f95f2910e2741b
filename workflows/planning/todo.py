"""What one run of a study makes, and how far it is with that."""

import csv
from functools import cache
from pathlib import Path
from statistics import mean

from frameworks.registry import framework, is_ranked
from workflows.planning import names
from workflows.planning.plan import Plan, StudyRequest, stamp
from workflows.planning.replicates import COMMAND_S, certifying
from workflows.records.folders import Folders
from workflows.records.minutes import Spent
from workflows.records.storage import RecordError, read_json

UNRANKED = 0.5  # of the time of another contender's certificate: a pitfall or part has fewer runs
# Seconds of each contender's certificate in two default studies on the two cores of an Intel Xeon,
# 24 November 2026 (`compile`: in proportion to the reference, in a trial on the same machine). Only
# their proportions count: how fast this machine is shows at once.
USUAL = Path(__file__).parent / "data" / "certificates.csv"
REFERENCE = "the reference"


class Todo:
    """The results that this run makes, as Snakemake has listed them in `study.json`.

    Among them may be results of earlier code, which are there and will be replaced. Without a list,
    a run makes what is missing.
    """

    def __init__(self, folders: Folders) -> None:
        self.root = folders.root
        self.listed: set[str] = set()
        self.former: dict[str, tuple[int, int]] = {}
        if folders.study.exists():
            request = read_json(folders.study, StudyRequest)
            self.listed, self.former = set(request.todo), request.former

    def holds(self, path: Path) -> bool:
        """Whether this run makes a result."""
        return not self.listed or self.name(path) in self.listed

    def done(self, path: Path) -> bool:
        """Whether a result is there to stay."""
        return stamp(path) not in (None, self.former.get(self.name(path)))

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


class CertificatesLeft:
    """The place of one command among those that certify, and the time to the end of the last.

    `name` is the framework to certify, None for the reference.
    """

    def __init__(self, plan: Plan, folders: Folders, workload: str, name: str | None) -> None:
        todo, number, total = Todo(folders), 1, 0
        frameworks = list(dict.fromkeys(contender.framework for contender in plan.contenders))
        self.own, self.left = work_s(plan, workload, name), 0.0
        self.seconds, self.work = 0.0, 0.0  # of what this run has done
        for other in plan.study.workloads:
            for one in (None, *frameworks):
                result = folders.certificate(other, one) if one else folders.reference(other)
                if not todo.holds(result):
                    continue
                total += 1
                if (other, one) == (workload, name):
                    continue
                if not todo.done(result):
                    self.left += work_s(plan, other, one)
                    continue
                number += 1
                self.count(folders.spent(certifying(other, one)), work_s(plan, other, one))
        who = framework(name).title if name else REFERENCE
        place = f"certificate {number} of {max(total, number)}"
        self.title = f"{place} · {names.workload(workload)}, {who}"

    def count(self, spent: Path, done: float) -> None:
        try:
            self.seconds += read_json(spent, Spent).seconds + COMMAND_S
        except RecordError:
            return
        self.work += done

    def left_s(self, elapsed_s: float) -> float | None:
        """Seconds to the end of the last certificate, None before the first is done."""
        if not self.work:
            return None
        pace = self.seconds / self.work
        expected = pace * self.own
        # A command that takes longer than expected is taken to be near its end.
        return max(expected - elapsed_s, 0.2 * min(elapsed_s, expected)) + pace * self.left


def work_s(plan: Plan, workload: str, name: str | None) -> float:
    """What a command takes on the machine of `USUAL`."""
    if name is None:
        return COMMAND_S + usual_s(workload, REFERENCE, "")
    return COMMAND_S + sum(
        usual_s(workload, name, one.variant) * (1.0 if is_ranked(one) else UNRANKED)
        for one in plan.runnable
        if one.framework == name
    )


def compiling_s(workload: str, name: str, variant: str) -> float:
    """How much longer the certificate of a variant takes than the default's, which is about what
    its compiler takes; 0 if there is no row of the variant."""
    if not any((row["framework"], row["variant"]) == (name, variant) for row in usual()):
        return 0.0
    return max(usual_s(workload, name, variant) - usual_s(workload, name, "default"), 0.0)


@cache
def usual() -> list[dict[str, str]]:
    with USUAL.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def usual_s(workload: str, name: str, variant: str) -> float:
    """The mean over the rows of this framework, variant and workload. A value without rows is
    ignored."""
    rows = usual()
    for column, value in (("framework", name), ("variant", variant), ("workload", workload)):
        rows = [row for row in rows if row[column] == value] or rows
    return mean(float(row["seconds"]) for row in rows)
