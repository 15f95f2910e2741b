"""Published files from the local cache or, failing that, from mirrors."""

import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from frameworks.workloads.datasets.errors import DataError

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
PATIENCE = 3.0  # seconds for a mirror to answer
STALL = 10.0  # seconds without a byte before a download is given up


def cache_folder() -> Path:
    """`SAMESTEP_CACHE`, or samestep's folder in the user's cache."""
    import pooch

    return Path(os.environ.get("SAMESTEP_CACHE") or pooch.os_cache("samestep")).expanduser()


def fetch(files: Mapping[str, str]) -> tuple[Path, str]:
    """Have files, given as SHA-256 by name, in the cache.

    Returns the cache folder and how they came there ("from the local cache").

    Raises:
        DataError: not in the cache, and no mirror gave them; the message says why.
    """
    import pooch

    cache = cache_folder()
    missing = dict(files)
    refused = []
    for name, sha256 in files.items():
        path = cache / name
        if not path.is_file():
            continue
        if pooch.file_hash(str(path)) == sha256:
            del missing[name]
        else:
            refused.append(f"{path} is truncated or altered")
    if not missing:
        return cache, "from the local cache"
    absent = "; ".join(refused) or f"{' and '.join(missing)} not in {cache}"
    mirrors = answering(next(iter(missing)))
    if not mirrors:
        raise DataError(f"{absent}; no mirror answered within {PATIENCE:g} s")
    say(f"{absent}: downloading from {' or '.join(mirrors)}")
    try:
        used = [download(name, sha256, cache, mirrors) for name, sha256 in missing.items()]
    except DataError as error:
        raise DataError(f"{absent}; {error}") from None
    return cache, f"downloaded from {' and '.join(dict.fromkeys(used))}"


def answering(name: str) -> list[str]:
    """Mirrors that have the file, asked all at once.

    Behind a firewall that drops packets, one request would wait PATIENCE for each address
    of each mirror; so nobody waits for the threads, only for the time.
    """
    import pooch

    answered = set()

    def ask(mirror: str) -> None:
        try:
            if pooch.HTTPDownloader(timeout=PATIENCE)(mirror + name, None, None, check_only=True):
                answered.add(mirror)
        except OSError:  # includes everything that requests raises
            pass

    threads = [threading.Thread(target=ask, args=(m,), daemon=True) for m in MIRRORS]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    return [mirror for mirror in MIRRORS if mirror in answered]


def download(name: str, sha256: str, cache: Path, mirrors: list[str]) -> str:
    """Put one file into the cache, each mirror tried once. Returns the mirror that had it."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    downloader = pooch.HTTPDownloader(chunk_size=2**16, timeout=(PATIENCE, STALL))
    faults = []
    for mirror in mirrors:
        try:
            pooch.retrieve(mirror + name, sha256, fname=name, path=cache, downloader=downloader)
            return mirror
        except ValueError:
            faults.append(f"{mirror}{name} is truncated or altered (its SHA-256 differs)")
        except OSError as error:
            faults.append(f"{mirror}{name}: {error.strerror or error}")
    raise DataError("; ".join(faults))


def say(line: str) -> None:
    print(f"samestep: {line}", file=sys.stderr, flush=True)
