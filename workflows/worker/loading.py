"""Loaders, which prepare mini-batches from pixels: when one is asked for, or ahead of that, in
threads or in processes. `python -m workflows.worker.loading` is one of these processes.

A loader's name says where it prepares mini-batches, and how many workers do: `inline`, `threads-1`,
`processes-2`. Each worker prepares one mini-batch ahead. Mini-batches come in order, whichever
worker is done first. The loader `stored` copies what was prepared before.
"""

import hashlib
import json
import mmap
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from math import prod
from pathlib import Path

import numpy as np

from frameworks.workloads.datasets.batches import INPUTS, PIXELS, opened
from frameworks.workloads.datasets.pixels import STORED, prepare

Pair = tuple[np.ndarray, np.ndarray]


class Stored:
    """Copies a stored mini-batch, into `slots`, (slots, batch, height, width, channels).

    `finish` waits for the oldest one that was begun and not finished.
    """

    def __init__(self, folder: Path, slots: int, workers: int) -> None:
        self.inputs, self.pixels = opened(folder / INPUTS), opened(folder / PIXELS)
        self.slots = np.empty((slots, *self.pixels.shape[1:]), np.float32)

    def begin(self, number: int, slot: int) -> None:
        np.copyto(self.slots[slot], self.inputs[number])

    def finish(self) -> None:
        pass

    def close(self) -> None:
        pass


class Inline(Stored):
    """Prepares a mini-batch at once."""

    def begin(self, number: int, slot: int) -> None:
        prepare(self.pixels[number], number, self.slots[slot])


class Threads(Inline):
    def __init__(self, folder: Path, slots: int, workers: int) -> None:
        super().__init__(folder, slots, workers)
        self.pool = ThreadPoolExecutor(workers)
        self.begun: deque[Future[None]] = deque()

    def begin(self, number: int, slot: int) -> None:
        self.begun.append(self.pool.submit(super().begin, number, slot))

    def finish(self) -> None:
        self.begun.popleft().result()

    def close(self) -> None:
        self.pool.shutdown()


class Processes(Stored):
    """Processes that share the slots' memory. Each ends with its standard input, however this
    process ends. They import NumPy and no framework, so they are no forks of this process."""

    def __init__(self, folder: Path, slots: int, workers: int) -> None:
        pixels = folder / PIXELS
        shape = (slots, *opened(pixels).shape[1:])
        memory = os.memfd_create("slots")
        os.ftruncate(memory, 4 * prod(shape))
        self.slots = mapped(memory, shape)
        command = [sys.executable, "-m", "workflows.worker.loading"]
        self.processes = [
            subprocess.Popen(
                [*command, str(pixels), str(memory), json.dumps(shape)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[memory],
            )
            for _ in range(workers)
        ]
        os.close(memory)
        self.begun: deque[subprocess.Popen[bytes]] = deque()

    def begin(self, number: int, slot: int) -> None:
        process = self.processes[slot % len(self.processes)]
        assert process.stdin
        process.stdin.write(f"{number} {slot}\n".encode())
        process.stdin.flush()
        self.begun.append(process)

    def finish(self) -> None:
        process = self.begun.popleft()
        assert process.stdout
        if not process.stdout.readline():
            raise RuntimeError("a process that prepares mini-batches has ended")

    def close(self) -> None:
        """Kill them, because a fork of the framework may hold their standard input open for ever.
        Closing tries once more to write what a process that has ended never read."""
        for process in self.processes:
            with suppress(BrokenPipeError), process:
                process.kill()


WAYS: dict[str, type[Stored]] = {
    STORED: Stored, "inline": Inline, "threads": Threads, "processes": Processes,
}  # fmt: skip


class Loader:
    """Delivers the mini-batches of a turn of at most `most`, each in memory of its own, so that
    all of them can be digested when the turn is over."""

    def __init__(self, name: str, folder: Path, targets: np.ndarray, most: int) -> None:
        kind, _, workers = name.partition("-")
        self.ahead, self.most, self.targets = int(workers or 0), most, targets
        self.way = WAYS[kind](folder, most + self.ahead, self.ahead)
        self.host_targets = np.empty((most, *targets.shape[1:]), targets.dtype)
        self.first = self.begun = self.fetched = 0

    def start(self, first: int) -> None:
        """Begin a turn, and what is prepared ahead of its first mini-batch."""
        self.first, self.begun, self.fetched = first, 0, 0
        for _ in range(self.ahead):
            self.begin()

    def begin(self) -> None:
        self.way.begin((self.first + self.begun) % len(self.targets), self.begun)
        self.begun += 1

    def fetch(self, number: int) -> Pair:
        """The next mini-batch, which has this number. Goes on beyond the end of a turn, so that
        something is prepared beside its last steps, too."""
        self.begin()
        self.way.finish()
        place = self.fetched
        self.fetched += 1
        np.copyto(self.host_targets[place], self.targets[number])
        return self.way.slots[place], self.host_targets[place]

    def end(self) -> str:
        """Wait for what was begun; the digest of what the turn was given."""
        for _ in range(self.ahead):
            self.way.finish()
        given = slice(self.fetched)
        return digest(zip(self.way.slots[given], self.host_targets[given], strict=True))


def digest(batches: Iterable[Pair]) -> str:
    """The SHA-256 of mini-batches in their order."""
    found = hashlib.sha256()
    for arrays in batches:
        for array in arrays:
            found.update(array.tobytes())
    return found.hexdigest()


def mapped(memory: int, shape: tuple[int, ...]) -> np.ndarray:
    """An array of float32 in memory that processes share, by its descriptor."""
    return np.frombuffer(mmap.mmap(memory, 4 * prod(shape)), np.float32).reshape(shape)


def main(pixels: str, memory: str, shape: str) -> None:
    """Prepare each mini-batch whose number and slot stand on a line of standard input; answer
    with a line."""
    stored, slots = opened(Path(pixels)), mapped(int(memory), tuple(json.loads(shape)))
    for line in sys.stdin:
        number, slot = map(int, line.split())
        prepare(stored[number], number, slots[slot])
        print(flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
