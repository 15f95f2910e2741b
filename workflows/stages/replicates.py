"""Fix the number of replicates of a study with `minutes`, after the first contest of each group.

`python -m workflows.stages.replicates --study results/<machine>/<study>` prints the number. It
writes `replicates.json`, which every later command reads.
"""

import argparse
import sys
from pathlib import Path

from workflows.machine.guardian import interruptible
from workflows.measure.contest_file import ContestFile
from workflows.output import explained
from workflows.planning.plan import PlanError, load_study
from workflows.planning.replicates import choose, contests_key, fixed, reckoning, spent_s
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.minutes import ReplicatesRecord
from workflows.records.storage import RecordError, read_json, write_json


def fix(folders: Folders) -> ReplicatesRecord | None:
    """Write `replicates.json`; None if the configuration itself gives the number.

    Raises:
        PlanError: the first contest of a group has not been held.
    """
    study = load_study(folders)
    if study.minutes is None:
        return None
    costs = {}
    for group in study.groups:
        if not (path := folders.contest(group, 1)).exists():
            raise PlanError(
                f"the first contest of {group} comes first: python -m workflows.measure.contest "
                f"--study {folders.root} --group {group} --replicate 1"
            )
        costs[group] = read_json(path, ContestFile).duration_s
    key, earlier = contests_key(study), fixed(folders, study)
    record = choose(study, key, spent_s(folders, study), costs, earlier)
    write_json(folders.replicates, record)
    return record


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflows.stages.replicates", description=__doc__
    )
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--log", type=Path, help="also write there how the number came about")
    arguments = parser.parse_args()
    try:
        folders = Folders(arguments.study)
        record = fix(folders)
        number = record.replicates if record else load_study(folders).replicates
    except (RecordError, PlanError, OSError) as error:
        print(f"replicates: {explained(error)}", file=sys.stderr)
        return 1
    if record:
        with Progress(1, "", log=arguments.log) as progress:
            progress.note(record.sentence)
            progress.detail(reckoning(record))
    print(number)
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main))
