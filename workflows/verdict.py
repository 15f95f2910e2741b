"""The end of a study: say what failed, and set it aside so that the next run repeats it.

`python -m workflows.verdict --study results/<machine>/<study>` exits with 1 if anything failed.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from workflows.examination import FAILED
from workflows.folders import Folders
from workflows.plan import PlanError, load_study
from workflows.records import CertificateRecord, CertificateRow, ContenderRecord, ContestRecord
from workflows.storage import RecordError, read_json


def failures(folders: Folders) -> Iterator[tuple[Path, list[str]]]:
    """Each record with a failed contender, and a line for every one of them."""
    for path in sorted(folders.root.glob("contests/*/*.json")):
        contest = read_json(path, ContestRecord)
        failed = [c for c in contest.contenders if c.status == "failed"]
        if failed:
            where = f"{contest.workload}, replicate {contest.replicate}"
            yield path, [f"{where}: {c.name}: {c.reason}" for c in failed]
    for path in sorted(folders.root.glob("certificates/*/*.json")):
        certificate = read_json(path, CertificateRecord)
        rows = [row for row in certificate.rows if row.status == "failed"]
        if rows:
            where = f"{certificate.workload}, certificate"
            yield path, [f"{where}: {row.name}: {row.reason}" for row in rows]


def set_aside(path: Path) -> bool:
    """Rename a record and its table, so that it is kept but no longer counts as done.

    What has failed in the same way before stays: repeating it would change nothing, and cost
    the measurements of the others. Returns whether it was set aside.
    """
    before = path.with_name(f"{path.name}.failed")
    if before.exists() and reasons(before) == reasons(path):
        return False
    for part in (path, path.with_suffix(".parquet")):
        if part.exists():
            part.replace(part.with_name(f"{part.name}.failed"))
    return True


def reasons(path: Path) -> list[str]:
    rows: Sequence[ContenderRecord | CertificateRow]
    if path.parts[-3] == "contests":
        rows = read_json(path, ContestRecord).contenders
    else:
        rows = read_json(path, CertificateRecord).rows
    return sorted(f"{row.name}: {row.reason}" for row in rows if row.status == "failed")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.verdict", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--report", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        study = load_study(Folders(arguments.study))
        failed = list(failures(Folders(arguments.study)))
    except (RecordError, PlanError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"\nThe report of study {study.study!r}: {arguments.report}", file=sys.stderr)
    if not failed:
        return 0
    print("\nSome contenders failed; the report has the others:", file=sys.stderr)
    again = 0
    for path, lines in failed:
        for line in lines:
            print(f"  {line}", file=sys.stderr)
        again += set_aside(path)
    if again:
        # Without its folder the reference is traced again.
        for broken in Folders(arguments.study).root.glob(f"certificates/*/*/{FAILED}"):
            shutil.rmtree(broken.parent)
        text = "They are set aside (*.failed): run snakemake again to repeat only those."
    else:
        text = "They failed as before, so they are kept: delete *.failed to have them repeated."
    print(f"{text}\nTheir logs: {Folders(arguments.study).logs}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
