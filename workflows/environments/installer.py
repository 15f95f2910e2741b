"""uv if it is on PATH, else venv and pip: making a virtual environment and installing into it."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from workflows.planning.isolated import without_leaks
from workflows.progress import Progress, duration

YES = ("1", "true", "yes", "on", "y", "t")
LAST_LINES = 8  # pip's words on a conflict take so many
POLL_S = 0.5

# What pip is told about where packages come from, uv is told as well, unless it has its own.
TOLD_TO_UV = {
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
    "PIP_EXTRA_INDEX_URL": "UV_INDEX",
    "PIP_FIND_LINKS": "UV_FIND_LINKS",
    "PIP_CERT": "SSL_CERT_FILE",
}


class InstallerFailed(Exception):
    """An installer that ended badly; the message is its last lines."""


def creating(folder: Path, uv: str | None) -> list[str]:
    """Make a virtual environment. What is run later is its `bin/python` alone, which does not
    mind that the folder is renamed."""
    if uv:
        return [uv, "venv", "--quiet", "--no-project", "--python", sys.executable, str(folder)]
    return [sys.executable, "-m", "venv", str(folder)]


def installing(wanted: Sequence[str], folder: Path, uv: str | None) -> list[str]:
    """Install into it; `wanted` as pip and uv both understand it."""
    python = str(folder / "bin" / "python")
    if uv:
        # Alone among these, uv has no variable for it.
        alone = ["--no-index"] if os.environ.get("PIP_NO_INDEX", "").lower() in YES else []
        return [uv, "pip", "install", *alone, "--python", python, *wanted]
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    return [python, "-m", "pip", "install", *quiet, *wanted]


def run(command: list[str], folder: Path, log: Path, progress: Progress) -> None:
    """Run an installer, all that it says going to `log`. Raises InstallerFailed."""
    begin = time.monotonic()
    with log.open("a") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder,
            env=installer_variables(),
        )  # fmt: skip
        try:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_S)
                said = ["preparing", *last_lines(log)][-1][:100]
                progress.update(0, f"{said} | {duration(time.monotonic() - begin)} so far")
        finally:
            process.kill()
            process.wait()
    if process.returncode:
        ended = f"{Path(command[0]).name} ended with exit status {process.returncode}"
        raise InstallerFailed(" / ".join(last_lines(log)) or ended)


def installer_variables() -> Mapping[str, str]:
    """The caller's own choice of package index, and nothing that leads out of the environment."""
    variables = {**without_leaks(), "NO_COLOR": "1", "PIP_USER": "0"}
    for told, name in TOLD_TO_UV.items():
        if told in variables:
            variables.setdefault(name, variables[told])
    if "PIP_EXTRA_INDEX_URL" in variables:  # pip takes the best version, whichever index has it
        variables.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    return variables


def last_lines(log: Path) -> list[str]:
    """The end of what an installer said, without passwords."""
    lines = log.read_text(errors="replace")[-4000:].splitlines()
    said = [re.sub(r"//[^/@\s]+@", "//...@", line).strip() for line in lines]
    return [line[:200] for line in said if line][-LAST_LINES:]
