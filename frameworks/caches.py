"""The state of compilers' caches, read before a framework is imported."""

import getpass
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path

from frameworks.description import Cache


def states(caches: tuple[Cache, ...]) -> dict[str, str]:
    """For each cache, by name: `off`, `cold` if its folder is empty or missing, or `warm`."""
    return {cache.name: state(folder(cache)) for cache in caches}


def state(place: str) -> str:
    if not place:
        return "off"
    with suppress(OSError, ValueError):
        return "warm" if any(path.is_file() for path in Path(place).rglob("*")) else "cold"
    return "cold"


def folder(cache: Cache) -> str:
    """The cache's folder as the environment has it, "" if nothing is kept."""
    given = os.environ.get(cache.variable, "")
    if cache.option:
        found = re.search(rf"(?:^|\s){re.escape(cache.option)}=(\S+)", given)
        given = found[1] if found else ""
    if given or not cache.otherwise:
        return given
    user = ""
    with suppress(OSError, KeyError, ImportError):
        user = getpass.getuser()
    return str(Path(tempfile.gettempdir(), cache.otherwise.format(user=user)))
