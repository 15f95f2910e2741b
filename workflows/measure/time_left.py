"""The time left in a study, estimated from the contests that are done."""

from statistics import mean

from workflows.planning.plan import Plan
from workflows.records.folders import Folders
from workflows.records.schema import ContestRecord
from workflows.records.storage import RecordError, read_json


class TimeLeft:
    """The place of one contest in its study, and the time to the end of the last contest."""

    def __init__(self, plan: Plan, folders: Folders, workload: str, replicate: int) -> None:
        study = plan.study
        durations: dict[str, list[float]] = {name: [] for name in study.workloads}
        for name in study.workloads:
            for number in range(1, study.replicates + 1):
                path = folders.contest(name, number)
                if (name, number) != (workload, replicate) and path.exists():
                    try:
                        durations[name].append(read_json(path, ContestRecord).duration_s)
                    except RecordError:
                        continue
        total = study.replicates * len(study.workloads)
        held = sum(map(len, durations.values()))
        self.title = f"contest {held + 1}/{total}: {workload}, replicate {replicate}"
        self.durations = durations
        self.workload = workload
        self.to_come = {
            name: study.replicates - len(held_there) - (name == workload)
            for name, held_there in durations.items()
        }

    def left_s(self, done: float, elapsed_s: float) -> float | None:
        """Seconds to the end of the study, if the share `done` of this contest took `elapsed_s`.

        None if no contest of this workload is done and less than a tenth of this one.
        """
        own = mean(self.durations[self.workload]) if self.durations[self.workload] else None
        if own is None and done < 0.1:
            return None
        expected = own if own is not None else elapsed_s / done
        known = [mean(held) for held in self.durations.values() if held] + [expected]
        left = max(expected - elapsed_s, expected * (1 - done))
        for name, count in self.to_come.items():
            held = self.durations[name]
            each = mean(held) if held else expected if name == self.workload else mean(known)
            left += count * each
        return left
