"""The end of a study: print what failed, and set it aside so that the next run repeats it.

`python -m workflows.stages.failures --study results/<machine>/<study>` exits with 1 if anything
failed.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from workflows.certify.runs import FAILED
from workflows.environments.stage import UNBUILT, Built
from workflows.machine.guardian import interruptible
from workflows.measure.contest_file import ContestFile
from workflows.output import explained
from workflows.planning.configuration import Configuration
from workflows.planning.isolated import isolated
from workflows.planning.names import listing
from workflows.planning.plan import (
    Detection,
    PlanError,
    StudyRequest,
    contenders_here,
    load_study,
    surface,
)
from workflows.planning.replicates import counting
from workflows.records.folders import Folders
from workflows.records.schema import CertificateRecord, CertificateRow, ContenderRecord
from workflows.records.storage import RecordError, read_json

# What differs each time: UUIDs, addresses, files in a temporary folder, zones behind a time,
# days and months, numbers that are written in letters, and any word with a digit in it, with a unit
# of time or of bytes behind it.
PASSING = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|0[xX][0-9a-fA-F]+|\b(?:[a-f]{8,}|[A-F]{8,})\b"
    r"|\S*samestep-[0-9a-f]{16}\S*|/tmp/\S*"
    r"|\d{1,2}:\d\d[\d:.]*(?: ?[AP]M)? ?(?:UTC|MSK|Z|[A-Z]{1,4}T)\b"
    r"|\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b"
    r"|\b(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec)[a-z]*\b|\b[AP]M\b"
    r"|\b(?:inf|Inf|infinity|Infinity|nan|NaN)\b"
    r"|\w*\d\w*(?: ?(?:(?:[mnuµμ]s|min|sec|[kKMGT]i?B)\b"
    r"|(?:(?:milli|micro|nano)?second|minute|hour|day|byte)s?\b))?"
)
OPENED = "The study goes on without that. To have it tried again, delete"
PLURAL = re.compile(r"(?<=ind)(?:ex|ices)\b|(?<=[a-z]{2})[eisy]+\b")  # and its singular
LETTERS = 200  # of a reason that count: long ones are cut, elsewhere if numbers have other widths


def contest_files(folders: Folders, study: Configuration) -> list[Path]:
    """The contests of the study as it is configured now. Others may lie beside them."""
    every = (folders.contest(g, n) for g in study.groups for n in counting(folders, study))
    return [path for path in every if path.exists()]


def failures(folders: Folders, study: Configuration) -> Iterator[tuple[Path, list[str]]]:
    """Each record with failed contenders, and a line for each of these."""
    for path in contest_files(folders, study):
        lines = [
            f"{contest.workload}, replicate {contest.replicate}: {who}: {reason}"
            for contest in read_json(path, ContestFile).contests
            for contender in contest.contenders
            for who, reason in failed_in(contender)
        ]
        if lines:
            yield path, lines
    for path in sorted(folders.root.glob("certificates/*/*.json")):
        certificate = read_json(path, CertificateRecord)
        lines = [
            f"{certificate.workload}, certificate: {who}: {reason}"
            for row in certificate.rows
            for who, reason in failed_in(row)
        ]
        if lines:
            yield path, lines


def failed_in(row: ContenderRecord | CertificateRow) -> Iterator[tuple[str, str]]:
    """Who failed, and why: the contender, and each optimiser that its certificate tried beside."""
    if row.status == "failed":
        yield row.name, row.reason
    for kind, one in getattr(row, "optimisers", {}).items():
        if one.status == "failed":
            yield f"{row.name} with {kind}", one.reason


def unbuilt(folders: Folders, study: Configuration) -> dict[str, str]:
    """Frameworks whose own environment could not be built, and why."""
    found = {}
    for name in sorted({entry.framework for entry in study.contenders}):
        path = folders.environment(name)
        if isolated(study, name) and path.exists() and (why := read_json(path, Built).missing):
            found[name] = why
    return found


def unopened(folders: Folders, study: Configuration) -> dict[Path, list[str]]:
    """The detections in which a framework of the study failed, all of it or some variants, and
    how."""
    found: dict[Path, list[str]] = {}
    for name in sorted({entry.framework for entry in study.contenders}):
        path = folders.detection(name)
        devices = read_json(path, Detection).devices if path.exists() else {}
        reasons = dict.fromkeys(one.missing for one in devices.values() if one.failed)
        whole = all(one.missing for one in devices.values())
        own = [(one.variant, surface(one)) for one in contenders_here(study, name)]
        for reason in reasons:
            without = {
                variant
                for variant, place in own
                if place in devices and devices[place].missing == reason
            }
            named = name if whole else f"{name} {listing(sorted(without))}"
            found.setdefault(path, []).append(f"{named} failed when it was opened: {reason}")
    return found


def overtaken(folders: Folders, study: Configuration, unbuilt: Mapping[str, str]) -> list[Path]:
    """Records that lack a framework whose environment has been built since. If that framework is
    the reference, these are all certificates, because they refer to another contender."""

    def late(rows: Sequence[ContenderRecord | CertificateRow]) -> set[str]:
        without = {row.framework for row in rows if row.reason.startswith(UNBUILT)}
        return without - set(unbuilt)

    found = [
        path
        for path in contest_files(folders, study)
        if any(late(one.contenders) for one in read_json(path, ContestFile).contests)
    ]
    certificates = sorted(folders.root.glob("certificates/*/*.json"))
    absent = {path: late(read_json(path, CertificateRecord).rows) for path in certificates}
    if study.reference_framework in set().union(*absent.values()):
        return found + certificates
    return found + [path for path in certificates if absent[path]]


def set_aside(path: Path) -> bool:
    """Rename a record and its table, so that they are kept but no longer count as done.

    A record that failed in the same way before stays. Repeating it would change nothing and would
    cost the measurements of the others. The way is what a reason says, apart from what differs each
    time: numbers, times, addresses, temporary names. Returns whether the record was set aside.
    """
    before = path.with_name(f"{path.name}.failed")
    with suppress(RecordError):  # a damaged record says nothing
        if before.exists() and ways(before) == ways(path):
            return False
    move(path, "failed")
    return True


def move(path: Path, suffix: str) -> None:
    for part in (path, path.with_suffix(".parquet")):
        if part.exists():
            part.replace(part.with_name(f"{part.name}.{suffix}"))


def ways(path: Path) -> list[tuple[str, ...]]:
    """Who failed in a record, and in which way."""
    rows: Mapping[str, Sequence[ContenderRecord | CertificateRow]]
    if path.parts[-3] == "contests":
        rows = {one.workload: one.contenders for one in read_json(path, ContestFile).contests}
    else:
        rows = {"certificate": read_json(path, CertificateRecord).rows}
    return sorted(
        (where, who, *lasting(reason))
        for where, own in rows.items()
        for row in own
        for who, reason in failed_in(row)
    )


def lasting(reason: str) -> list[str]:
    """The first words of a reason that are the same whenever the same happens, sorted, because a
    set of Python has another order in each process."""
    kept = PLURAL.sub("", PASSING.sub("", reason.replace(tempfile.gettempdir(), "/tmp")))
    words = " ".join(re.findall(r"[^\W\d_]{2,}", kept))
    return sorted(set(words[:LETTERS].split()))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflows.stages.failures", description=__doc__
    )
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    arguments = parser.parse_args()
    try:
        return tell(Folders(arguments.study))
    except (RecordError, PlanError, OSError) as error:
        print(f"failures: {explained(error)}", file=sys.stderr)
        return 1


def tell(folders: Folders) -> int:
    """Print what failed, and set it aside. Returns 1 if anything has to be repeated.

    Raises:
        RecordError: a record is damaged.
        PlanError: the configuration cannot be used any more.
        OSError: a record cannot be set aside.
    """
    study = load_study(folders)
    failed = list(failures(folders, study))
    absent = unbuilt(folders, study)
    late = overtaken(folders, study, absent)
    again = os.environ.get("SAMESTEP_AGAIN") or read_json(folders.study, StudyRequest).command
    for name, reason in absent.items():
        print(f"\nWithout {name}: {reason}", file=sys.stderr)
        print(f"The next run tries again: {again}", file=sys.stderr)
    crashed = unopened(folders, study)
    for path, reasons in crashed.items():
        print("", *reasons, sep="\n", file=sys.stderr)
        print(f"{OPENED} {path}, then:\n  {again}", file=sys.stderr)
    for path in late:
        move(path, "overtaken")
        if path.parts[-3] == "certificates" and path.stem == study.reference_framework:
            shutil.rmtree(folders.reference(path.parent.name), ignore_errors=True)
    if late:
        print(
            "\nAn environment could be built that was not there before. Measure what it was "
            f"missing from:\n  {again}",
            file=sys.stderr,
        )
    if not failed:
        return 1 if late or crashed else 0
    print("\nSome contenders failed; the report has the others:", file=sys.stderr)
    repeated = 0
    for path, lines in failed:
        for line in lines:
            print(f"  {line}", file=sys.stderr)
        repeated += path in late or set_aside(path)
    print(f"Their logs: {folders.logs}", file=sys.stderr)
    if repeated:
        # Without its folder the reference is traced again.
        for broken in folders.root.glob(f"certificates/*/*/{FAILED}"):
            shutil.rmtree(broken.parent)
        text = f"They are set aside (*.failed). Repeat only those:\n  {again}"
    else:
        text = "They failed as before, so they are kept. To have them repeated, delete *.failed."
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(interruptible(main))
