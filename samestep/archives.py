"""Archives of a study's records, which people send to each other."""

import re
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from samestep.studies import MACHINES, REPORTS
from samestep.terminal import Problem
from workflows.records.limits import FILE, MACHINE, STUDY
from workflows.records.machine_folder import FILES, read_machine, write_machine

SUFFIX = ".zip"
MOST = 100  # machines in an archive


def pack(folders: Sequence[Path], archive: Path, scratch: Path) -> None:
    """Write an archive of these machines' records, each read, checked and written anew, so that
    records of an earlier samestep are masked as today's are. `scratch`: an empty folder.

    Raises:
        RecordError: records cannot be used.
        OSError: the archive cannot be written.
    """
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_STORED) as found:
        for number, folder in enumerate(folders, 1):
            records, batches = read_machine(folder)
            own = scratch / records.machine
            if own.exists():  # two starts of one machine
                own = scratch / f"{records.machine}_{number}"
            write_machine(own, records, batches)
            for name in FILES:
                found.write(own / name, f"{MACHINES}/{own.name}/{name}")


def unpack(archive: Path) -> list[Path]:
    """The machines' folders of an archive, in `reports/` under its name.

    Nothing is written but the files that records have, and none that is too large.

    Raises Problem if the archive is none of ours, or the study is there already.
    """
    study = archive.name.removesuffix(SUFFIX)
    if not re.fullmatch(STUDY, study):
        raise Problem(f"{archive}: name the file like a study: letters, digits, - and _ only")
    home = REPORTS / study
    if home.exists():
        raise Problem(f"{home} is there already: rename {archive.name}, or remove that folder")
    machine = MACHINE.strip("^$")
    wanted = [re.compile(rf"{MACHINES}/{machine}/{re.escape(name)}") for name in FILES]
    try:
        with zipfile.ZipFile(archive) as found:
            entries = found.infolist()
            if not 0 < len(entries) <= MOST * len(FILES):
                raise Problem(f"{archive}: {len(entries)} files, of at most {MOST} machines")
            for entry in entries:
                if not any(pattern.fullmatch(entry.filename) for pattern in wanted):
                    raise Problem(f"{archive}: {entry.filename[:80]!r} is no file of records")
                if entry.file_size > FILE:
                    raise Problem(f"{archive}: {entry.filename} is too large")
            for entry in entries:
                place = home / entry.filename
                place.parent.mkdir(parents=True, exist_ok=True)
                with found.open(entry) as source, place.open("wb") as target:
                    shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        shutil.rmtree(home, ignore_errors=True)
        raise Problem(f"{archive}: not a readable archive ({error})") from None
    return sorted((home / MACHINES).iterdir())
