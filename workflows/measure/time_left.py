"""The time left in a study, estimated from the contests that are done."""

from statistics import mean

from workflows.planning.plan import Plan
from workflows.records.contest_file import ContestFile
from workflows.records.folders import Folders
from workflows.records.storage import RecordError, read_json


class TimeLeft:
    """The place of one contest in its study, and the time to the end of the last contest."""

    def __init__(self, plan: Plan, folders: Folders, group: str, replicate: int) -> None:
        study = plan.study
        durations: dict[str, list[float]] = {name: [] for name in study.groups}
        for name in study.groups:
            for number in range(1, study.replicates + 1):
                path = folders.contest(name, number)
                if (name, number) != (group, replicate) and path.exists():
                    try:
                        durations[name].append(read_json(path, ContestFile).duration_s)
                    except RecordError:
                        continue
        total = study.replicates * len(study.groups)
        held = sum(map(len, durations.values()))
        self.title = f"contest {held + 1}/{total}: {group}, replicate {replicate}"
        self.durations = durations
        self.group = group
        self.begun_s = 0.0  # what starting the processes took, or has taken so far
        self.to_come = {
            name: study.replicates - len(held_there) - (name == group)
            for name, held_there in durations.items()
        }

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
        for name, count in self.to_come.items():
            held = self.durations[name]
            each = mean(held) if held else expected if name == self.group else mean(known)
            left += count * each
        return left
