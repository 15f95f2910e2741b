"""The time left in a study, estimated from the contests that are done."""

from statistics import mean

from workflows.planning.configuration import MOST
from workflows.planning.plan import Plan
from workflows.planning.replicates import LEAST, fitting, fixed, spent_s
from workflows.records.contest_file import ContestFile
from workflows.records.folders import Folders
from workflows.records.storage import RecordError, read_json


class TimeLeft:
    """The place of one contest in its study, and the time to the end of the last contest."""

    def __init__(self, plan: Plan, folders: Folders, group: str, replicate: int) -> None:
        study = self.study = plan.study
        found = fixed(folders, study)
        # None until the first contests say how many fit in the study's minutes.
        self.replicates = found.replicates if found else None
        if study.minutes is None:
            self.replicates = study.replicates
        most = self.replicates or study.replicates or MOST
        durations: dict[str, list[float]] = {name: [] for name in study.groups}
        for name in study.groups:
            for number in range(1, most + 1):
                path = folders.contest(name, number)
                if (name, number) != (group, replicate) and path.exists():
                    try:
                        durations[name].append(read_json(path, ContestFile).duration_s)
                    except RecordError:
                        continue
        held = sum(map(len, durations.values()))
        self.title = (
            f"contest {held + 1}{self.of(len(study.groups))}: {group}, replicate {replicate}"
        )
        self.durations = durations
        self.group = group
        self.begun_s = 0.0  # what starting the processes took, or has taken so far
        self.before_s = spent_s(folders, study) if study.minutes else 0.0

    def of(self, groups: int) -> str:
        """`/8`, or ` of 5 to 8` before the number of replicates is fixed."""
        if self.replicates:
            return f"/{groups * self.replicates}"
        most = self.study.replicates
        if most and most <= LEAST:
            return f"/{groups * most}"
        return f" of {groups * LEAST} " + (f"to {groups * most}" if most else "or more")

    def left_s(self, done: float, elapsed_s: float) -> float | None:
        """Seconds to the end of the study, if the share `done` of this contest took `elapsed_s`.

        None if no contest of this group is done and less than a tenth of this one.
        """
        if not done:
            self.begun_s = elapsed_s
        own = mean(self.durations[self.group]) if self.durations[self.group] else None
        if own is None and done < 0.1:
            return None
        expected = self.begun_s + (elapsed_s - self.begun_s) / done if own is None else own
        known = [mean(held) for held in self.durations.values() if held] + [expected]
        left = max(0.0, expected - elapsed_s, (expected - self.begun_s) * (1 - done))
        each = {
            name: mean(held) if held else expected if name == self.group else mean(known)
            for name, held in self.durations.items()
        }
        number = self.replicates or fitting(self.study, self.before_s, sum(each.values()))
        for name, held in self.durations.items():
            left += max(number - len(held) - (name == self.group), 0) * each[name]
        return left
