"""Finds studies by their name, their folder, or the folders of their machines."""

from pathlib import Path

from samestep.terminal import unknown

REPORTS = Path("reports")
MACHINES = "machines"  # a study's folder has a folder of records for each machine in here


def machines(word: str) -> list[Path]:
    """The folders with the records of a study, or the one folder of records that is named.

    Raises Problem if the word names neither.
    """
    for study in (REPORTS / word, Path(word)):
        found = sorted(folder for folder in study.glob(f"{MACHINES}/*") if folder.is_dir())
        if found:
            return found
    if Path(word).is_dir():
        return [Path(word)]
    raise unknown("study", word, names())


def names() -> list[str]:
    """The studies in `reports/` that have records."""
    folders = {folder.parent for folder in REPORTS.glob(f"**/{MACHINES}")}
    return sorted(folder.relative_to(REPORTS).as_posix() for folder in folders - {REPORTS})
