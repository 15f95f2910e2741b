"""Published files from the user's cache, or else from mirrors."""

import os
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path

from frameworks.workloads.datasets.batches import DataError

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
PATIENCE = 3.0  # seconds for a mirror to answer
STALL = 10.0  # seconds without a byte before a download is given up


def cache_folder() -> Path:
    """`SAMESTEP_CACHE`, or samestep's folder in the user's cache."""
    import pooch

    return folder(os.environ.get("SAMESTEP_CACHE") or str(pooch.os_cache("samestep")))


def folder(named: str) -> Path:
    """The folder with `~` expanded. A `~user` who does not exist stays as it is."""
    return Path(os.path.expanduser(named))  # noqa: PTH111, because Path's raises RuntimeError


def fetch(registry: Mapping[str, str]) -> tuple[Path, str]:
    """Put files, given as SHA-256 by name, into the cache.

    Returns the cache folder and where the files are from ("from the local cache").

    Raises:
        DataError: neither the cache nor a mirror has the files; the message says why.
    """
    import pooch

    cache = cache_folder()
    missing = [name for name in registry if not intact(cache / name, registry[name])]
    if not missing:
        return cache, "from the local cache"
    altered = [
        f"{cache / name} is truncated or altered" for name in missing if (cache / name).is_file()
    ]
    absent = "; ".join(altered) or f"{' and '.join(missing)} not in {cache}"
    mirrors = answering(missing[0])
    if not mirrors:
        raise DataError(f"{absent}; no mirror answered within {PATIENCE:g} s")
    say(f"{absent}: downloading from {' or '.join(mirrors)}")
    pooch.get_logger().setLevel("ERROR")
    downloader = pooch.HTTPDownloader(chunk_size=2**16, timeout=(PATIENCE, STALL))
    used, faults = [], []
    for mirror in mirrors:
        source = pooch.create(cache, mirror, registry=registry)
        for name in missing.copy():
            try:
                source.fetch(name, downloader=downloader)
                missing.remove(name)
                used.append(mirror)
            except ValueError:
                faults.append(f"{mirror}{name} is truncated or altered (its SHA-256 differs)")
            except OSError as error:
                faults.append(f"{mirror}{name}: {error.strerror or error}")
    if missing:
        raise DataError("; ".join([absent, *faults]))
    return cache, f"downloaded from {' and '.join(dict.fromkeys(used))}"


def intact(path: Path, sha256: str) -> bool:
    import pooch

    return path.is_file() and pooch.file_hash(str(path)) == sha256


def answering(name: str) -> list[str]:
    """The mirrors that have a file. All are asked at once, and PATIENCE is the limit for all.

    A firewall that drops packets delays each request by PATIENCE for each address of a mirror.
    So nobody waits for the threads.
    """
    import pooch

    def ask(mirror: str, answer: Future[bool]) -> None:
        found = False
        try:
            with suppress(OSError):  # every error of requests is one
                downloader = pooch.HTTPDownloader(timeout=PATIENCE)
                found = bool(downloader(mirror + name, None, None, check_only=True))
        finally:
            answer.set_result(found)

    answers: dict[str, Future[bool]] = {mirror: Future() for mirror in MIRRORS}
    for asked in answers.items():
        threading.Thread(target=ask, args=asked, daemon=True).start()
    wait(answers.values(), timeout=PATIENCE)
    return [mirror for mirror, answer in answers.items() if answer.done() and answer.result()]


def say(line: str) -> None:
    print(f"samestep: {line}", file=sys.stderr, flush=True)
