"""Loaders, which prepare mini-batches from pixels: when one is asked for, or ahead of that, in
threads or in processes. `python -m workflows.worker.loading` is one of these processes.

A loader's name says where it prepares mini-batches, and how many workers do: `inline`, `threads-1`,
`processes-2`. Each worker prepares one mini-batch ahead. Mini-batches come in order, whichever
worker is done first. The loader `stored` copies what was prepared before, and `framework-2` is the
framework's own, with two workers.
"""

import hashlib
import json
import mmap
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from math import prod
from pathlib import Path

import numpy as np

from frameworks.contract import AHEAD, Deliver, MiniBatch
from frameworks.workloads.datasets.batches import INPUTS, PIXELS, TARGETS, opened
from frameworks.workloads.datasets.pixels import OWN, STORED, prepare
from workflows.worker.border import as_mini_batch

# A socket's name has 107 bytes at most, and Python's processes make some in the folder for
# temporary files. With a longer one PyTorch's loader prints an error, and no mini-batch comes.
LONGEST = 107 - len("/pymp-abcdefgh/listener-abcdefgh")
Offer = Callable[[Callable[[int], MiniBatch], int], Deliver]  # `Adapter.loader`


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
    """Delivers the mini-batches of a turn, each in memory of its own, so that all of them can be
    digested when the turn is over. There is memory for turns of at most `most`."""

    way: Stored
    host_targets: np.ndarray

    def __init__(self, name: str, folder: Path, targets: np.ndarray) -> None:
        self.kind, _, workers = name.partition("-")
        self.folder, self.targets, self.ahead = folder, targets, int(workers or 0)
        self.most = self.first = self.begun = self.fetched = 0

    def start(self, numbers: Sequence[int]) -> None:
        """Begin a turn, and what is prepared ahead of its first mini-batch."""
        if (count := len(numbers)) > self.most:
            self.close()
            self.way = WAYS[self.kind](self.folder, count + self.ahead, self.ahead)
            self.host_targets = np.empty((count, *self.targets.shape[1:]), self.targets.dtype)
            self.most = count
        self.first, self.begun, self.fetched = numbers[0], 0, 0
        for _ in range(self.ahead):
            self.begin()

    def begin(self) -> None:
        self.way.begin((self.first + self.begun) % len(self.targets), self.begun)
        self.begun += 1

    def fetch(self, number: int) -> MiniBatch:
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

    def close(self) -> None:
        if self.most:
            self.way.close()


class Prepared:
    """Prepares a mini-batch in arrays of its own, and counts in the file `counted` how often. A
    copy in another process opens the files, and takes no mini-batches along."""

    def __init__(self, folder: Path, counted: Path) -> None:
        self.folder, self.counted = folder, counted
        self.pixels, self.targets = opened(folder / PIXELS), opened(folder / TARGETS)
        self.times = np.memmap(counted, np.int64, "r+", shape=len(self.targets))

    def __reduce__(self) -> tuple[type["Prepared"], tuple[Path, Path]]:
        return Prepared, (self.folder, self.counted)

    def __call__(self, number: int) -> MiniBatch:
        self.times[number] += 1
        pixels = self.pixels[number]
        inputs = np.empty(pixels.shape, np.float32)
        prepare(pixels, number, inputs)
        return inputs, np.array(self.targets[number])


class OwnLoader:
    """Delivers the mini-batches of a turn by the framework's own loader, and keeps them until the
    turn is over."""

    def __init__(self, name: str, folder: Path, targets: np.ndarray, offer: Offer) -> None:
        workers = int(name.partition("-")[2])
        self.ahead, self.stored = AHEAD * workers, len(targets)
        shorten_temporary_folder()
        counted = Path(tempfile.mkdtemp()) / "counted"
        counted.write_bytes(bytes(8 * self.stored))
        self.prepared = Prepared(folder, counted)
        self.deliver = offer(self.prepared, workers)
        self.asked: list[int] = []
        self.given: list[MiniBatch] = []
        self.rest: Iterator[MiniBatch] = iter(())

    def start(self, numbers: Sequence[int]) -> None:
        """Begin a turn. More is asked for than the turn takes, as in `Loader.fetch`."""
        count = len(numbers) + self.ahead
        self.asked = [(numbers[0] + place) % self.stored for place in range(count)]
        self.prepared.times[:] = 0
        self.rest = self.deliver(self.asked)

    def fetch(self, number: int) -> MiniBatch:
        if (found := next(self.rest, None)) is None:
            raise RuntimeError(f"its loader ends after {len(self.given)} mini-batches")
        self.given.append(as_mini_batch(found))
        return self.given[-1]

    def end(self) -> str:
        """Wait for what was asked for; the digest of what the turn was given. Raises RuntimeError
        if it was not prepared for this turn."""
        for _ in self.rest:
            pass
        times, right = self.prepared.times, np.bincount(self.asked, minlength=self.stored)
        if (times != right).any():
            raise RuntimeError(
                f"its loader prepared {times.sum()} mini-batches in a turn that asked for "
                f"{right.sum()}, or others than these"
            )
        given, self.given, self.rest = self.given, [], iter(())
        return digest(given)


def shorten_temporary_folder() -> None:
    """Have Python use a shorter name of the folder for temporary files, if that is needed."""
    folder = tempfile.gettempdir()
    if sys.platform == "linux" and len(os.fsencode(folder)) > LONGEST:
        tempfile.tempdir = f"/proc/{os.getpid()}/fd/{os.open(folder, os.O_DIRECTORY)}"


def new_loader(name: str, folder: Path, targets: np.ndarray, offer: Offer) -> Loader | OwnLoader:
    if name.partition("-")[0] == OWN:
        return OwnLoader(name, folder, targets, offer)
    return Loader(name, folder, targets)


def digest(batches: Iterable[MiniBatch]) -> str:
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
