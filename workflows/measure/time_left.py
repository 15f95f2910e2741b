"""The time left in a study, estimated from the contests that are done."""

from collections.abc import Mapping
from statistics import mean

from workflows.measure.contest_file import ContestFile
from workflows.planning.configuration import MOST
from workflows.planning.plan import Plan
from workflows.planning.replicates import LEAST, fitting, fixed, spent_s
from workflows.planning.todo import Todo
from workflows.records.folders import Folders
from workflows.records.storage import RecordError, read_json

REPORT_S = 10.0  # from the end of the last contest to the report


class TimeLeft:
    """The place of one contest in its study, and the time to the report."""

    def __init__(self, plan: Plan, folders: Folders, group: str, replicate: int) -> None:
        study, todo = plan.study, Todo(folders)
        self.study = study
        found = fixed(folders, study)
        # None until the first contests say how many fit in the study's minutes.
        self.replicates = found.replicates if found else None
        if study.minutes is None:
            self.replicates = study.replicates
        most = self.replicates or study.replicates or MOST
        # Contests of earlier code are still to be held, but say how long one takes.
        self.durations: dict[str, list[float]] = {name: [] for name in study.groups}
        self.held = dict.fromkeys(study.groups, 0)
        for name in study.groups:
            for number in range(1, most + 1):
                path = folders.contest(name, number)
                if (name, number) != (group, replicate) and path.exists():
                    try:
                        self.durations[name].append(read_json(path, ContestFile).duration_s)
                    except RecordError:
                        continue
                    self.held[name] += todo.done(path)
        number = sum(self.held.values()) + 1
        self.title = f"contest {number} of {self.total(len(study.groups))}"
        self.group = group
        # The share of the turns that have no pace: the warm-up and, in the first round, restarts
        # for the first time, which may compile.
        self.warm_up = (1 + (study.contest.rounds > 2)) / (study.contest.rounds + 1)
        self.begun_s = 0.0  # until the rounds: what starting and warming up took, or has taken
        self.before_s = spent_s(folders, study) if study.minutes else 0.0

    def total(self, groups: int) -> str:
        """`8`, or `5 to 8` before the number of replicates is fixed."""
        if self.replicates:
            return str(groups * self.replicates)
        most = self.study.replicates
        if most and most <= LEAST:
            return str(groups * most)
        return f"{groups * LEAST} " + (f"to {groups * most}" if most else "or more")

    def left_s(self, done: float, elapsed_s: float) -> float | None:
        """Seconds to the end of the study, if the share `done` of this contest took `elapsed_s`.

        What a process does only once comes first, so that only later rounds have a pace. Before
        a tenth of them is done and no earlier contest of this group, the study's `minutes` say how
        much is left, or nothing does. It is no less than what the others take if each takes as
        long as this one has taken so far.
        """
        rounds = max(0.0, (done - self.warm_up) / (1 - self.warm_up))
        if not rounds:
            self.begun_s = elapsed_s
        known = {name: mean(held) for name, held in self.durations.items() if held}
        own = known.get(self.group)
        if own is None and rounds < 0.1:
            if self.study.minutes is None:
                return None
            held_s = sum(map(sum, self.durations.values()))
            at_least = REPORT_S + self.others_s(LEAST, {**known, self.group: elapsed_s})
            return max(60 * self.study.minutes - self.before_s - held_s - elapsed_s, at_least)
        expected = self.begun_s + (elapsed_s - self.begun_s) / rounds if own is None else own
        left = max(0.0, expected - elapsed_s, (expected - self.begun_s) * (1 - rounds))
        each = {self.group: expected, **known}
        each |= dict.fromkeys({*self.held} - {*each}, mean([*known.values(), expected]))
        number = self.replicates or fitting(self.study, self.before_s, sum(each.values()))
        return left + self.others_s(number, each) + REPORT_S

    def others_s(self, replicates: int, each: Mapping[str, float]) -> float:
        """Seconds of the contests to come after this one, by what one of each group takes."""
        return sum(
            max(replicates - held - (name == self.group), 0) * each.get(name, 0.0)
            for name, held in self.held.items()
        )
