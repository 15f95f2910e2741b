"""Archives of a study's records, which people send to each other."""

import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path

from samestep.studies import MACHINES, REPORTS
from samestep.terminal import Problem
from workflows.output import explained
from workflows.records.limits import FILE, MACHINE, STUDY, TABLE
from workflows.records.machine_folder import FILES, open_machine, write_machine
from workflows.records.storage import RecordError, shown, unforeseen
from workflows.records.whole_files import discard

SUFFIX = ".zip"
MOST = 100  # machines in an archive
NAMED = "name the file like a study: letters, digits, - and _ only"
# What zipfile raises for damaged archives, and for those that it does not support.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, LZMAError, struct.error, EOFError, ValueError, RuntimeError,
)  # fmt: skip


def pack(folders: Sequence[Path], archive: Path, scratch: Path) -> None:
    """Write an archive of these machines' records. They are read, checked and written anew, so that
    records of earlier versions are masked like today's. `scratch`: an empty folder.

    Raises:
        RecordError: records cannot be used.
        OSError: the archive cannot be written.
    """
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as found:
        for number, folder in enumerate(folders, 1):
            records, batches = open_machine(folder)
            own = scratch / records.machine
            if own.exists():  # two starts of one machine
                own = scratch / f"{records.machine}_{number}"
            write_machine(own, records, batches.tables)
            for name in FILES:
                found.write(own / name, f"{MACHINES}/{own.name}/{name}")


def unpack(archive: Path) -> list[Path]:
    """Unpack an archive into `reports/` under its name, and return the machines' folders. It writes
    only files of records, and all of them or none.

    Raises Problem if the archive is damaged or too large, if it has other files, if its records
    cannot be used, or if the study is there already.
    """
    from analysis.data.reading import load  # takes a second to import

    study = archive.name.removesuffix(SUFFIX)
    if not re.fullmatch(STUDY, study):
        raise Problem(f"{archive}: {NAMED}")
    home = REPORTS / study
    if home.exists():
        raise Problem(
            f"{home} is there already: samestep report {study} reports on that; rename "
            f"{archive.name}, or remove that folder"
        )
    if archive.exists() and not archive.is_file():  # a pipe or a device may have no end
        raise Problem(f"{archive}: not a file")
    partial = home.with_name(f".{study}.partial")  # a fixed name: a killed run's is removed
    try:
        with zipfile.ZipFile(archive) as found:
            entries = found.infolist()
            require_records(archive, entries)
            discard(partial)
            for entry in entries:
                place = partial / entry.filename
                place.parent.mkdir(parents=True, exist_ok=True)
                with found.open(entry) as source, place.open("wb") as target:
                    shutil.copyfileobj(source, target)
        with unforeseen(partial):
            load(sorted((partial / MACHINES).iterdir()))
        partial.rename(home)
    except RecordError as error:
        raise Problem(str(error).replace(str(partial), str(archive))) from None
    except DAMAGED as error:
        raise Problem(f"{archive}: not a readable archive ({shown(error)})") from None
    except OSError as error:
        raise Problem(f"{archive} was not unpacked: {explained(error)}") from None
    finally:
        discard(partial)
    return sorted((home / MACHINES).iterdir())


def require_records(archive: Path, entries: Sequence[zipfile.ZipInfo]) -> None:
    """Raises Problem if an archive has other files than records, too many, or one too large. A
    large table must be stored as it is, so that nothing grows when it is unpacked."""
    if not 0 < len(entries) <= MOST * len(FILES):
        raise Problem(f"{archive}: {len(entries)} files, of at most {MOST} machines")
    names = [entry.filename for entry in entries]
    if len({*names}) < len(names):
        raise Problem(f"{archive}: {max(names, key=names.count)[:80]!r} is there twice")
    wanted = re.compile(rf"{MACHINES}/{MACHINE.strip('^$')}/({'|'.join(map(re.escape, FILES))})")
    for entry in entries:
        if not wanted.fullmatch(entry.filename):
            raise Problem(f"{archive}: {entry.filename[:80]!r} is no file of records")
        stored = entry.compress_size == entry.file_size
        if entry.file_size > (TABLE if stored and entry.filename.endswith(".parquet") else FILE):
            raise Problem(f"{archive}: {entry.filename} is too large")
