"""The time left in a study, estimated from the contests that are done."""

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
        much is left, or nothing does.
        """
        rounds = max(0.0, (done - self.warm_up) / (1 - self.warm_up))
        if not rounds:
            self.begun_s = elapsed_s
        own = mean(self.durations[self.group]) if self.durations[self.group] else None
        if own is None and rounds < 0.1:
            if self.study.minutes is None:
                return None
            held_s = sum(map(sum, self.durations.values()))
            return max(60 * self.study.minutes - self.before_s - held_s - elapsed_s, REPORT_S)
        expected = self.begun_s + (elapsed_s - self.begun_s) / rounds if own is None else own
        known = [mean(held) for held in self.durations.values() if held] + [expected]
        left = max(0.0, expected - elapsed_s, (expected - self.begun_s) * (1 - rounds))
        each = {
            name: mean(held) if held else expected if name == self.group else mean(known)
            for name, held in self.durations.items()
        }
        number = self.replicates or fitting(self.study, self.before_s, sum(each.values()))
        for name, held in self.held.items():
            left += max(number - held - (name == self.group), 0) * each[name]
        return left + REPORT_S
