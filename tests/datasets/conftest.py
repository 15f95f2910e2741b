"""No test here leaves the machine: mirrors are closed local ports, or a local server."""

import functools
import gzip
import hashlib
import os
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from frameworks.workloads.datasets import mirrors, mnist

REAL = os.environ.get(mnist.FOLDER)
CLOSED = ("http://127.0.0.1:9/mnist/", "http://127.0.0.1:9/other/")


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mirrors, "MIRRORS", CLOSED)
    monkeypatch.setenv("SAMESTEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(mnist.FOLDER, raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def real_folder() -> str:
    """A folder with MNIST's own test files."""
    if not REAL:
        pytest.skip(f"{mnist.FOLDER} names no folder with MNIST's test split")
    return REAL


def idx_bytes(array: np.ndarray) -> bytes:
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Publishes a train split of 50 images, and a test split of 20: gzipped files by name."""
    packages = {}
    for split, size in (("train", 50), ("test", 20)):
        random = np.random.default_rng(size)
        arrays = (random.integers(0, 256, (size, 28, 28)), random.integers(0, 10, size))
        files = []
        for file, array in zip(mnist.SPLITS[split], arrays, strict=True):
            content = idx_bytes(array)
            packed = gzip.compress(content, mtime=0)
            packages[f"{file.name}.gz"] = packed
            sums = (hashlib.sha256(data).hexdigest() for data in (content, packed))
            files.append(mnist.File(file.name, array.shape, *sums))
        monkeypatch.setitem(mnist.SPLITS, split, tuple(files))
    return packages


@pytest.fixture
def tiny_folder(tiny: dict[str, bytes], tmp_path: Path) -> Path:
    return filled(tmp_path / "given", tiny)


def filled(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Serves folders on 127.0.0.1: a mirror's address for each."""
    servers = []

    def start(folder: Path) -> str:
        handler = functools.partial(Quiet, directory=str(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
