"""The only clock of the study: what is timed, is timed here, outside every adapter."""

import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np

from frameworks.contract import MiniBatch, Trainer
from workflows.worker.border import as_loss
from workflows.worker.loading import Loader, Offer, OwnLoader, new_loader
from workflows.worker.training import overwrite

FENCED_NS = (50_000_000, 5_000_000)  # about as much work precedes a fence that is examined
FENCES = 5
LOOKED_AT = 0.1  # share of work left, above which copies of results are considered
RESTED_S = 0.01  # for a device to finish what a small step may have left
PAIRS = 9
# Bytes. glibc takes a larger array from the system by itself and gives it back, which leaves the
# memory of others as it is.
LARGE = 32 << 20

Result = TypeVar("Result")
BatchStream = Iterator[MiniBatch]
Readers = Sequence[Callable[[], Any]]  # of what a step has computed

now = time.perf_counter_ns


def timed(call: Callable[[], Result]) -> tuple[Result, float]:
    """A call's result, and its time in seconds."""
    begin = now()
    result = call()
    return result, (now() - begin) / 1e9


class Asleep:
    """The processor time that this process takes while it answers no request, because an adapter
    may have left work to threads."""

    def __init__(self) -> None:
        self.since, self.spent_ns = time.process_time_ns(), 0

    def begin(self) -> None:
        self.since = time.process_time_ns()

    def end(self) -> None:
        self.spent_ns += time.process_time_ns() - self.since

    def taken_ns(self) -> int:
        """What was spent since the last call."""
        spent, self.spent_ns = self.spent_ns, 0
        return spent


class Turns:
    """Times the mini-batches of one workload, turn by turn.

    `offset_ns` turns this machine's monotonic clock into Unix time. It is the same for all
    workers of a contest. `between_ns` is the processor time of the last turn's mini-batches that
    was not in their timed region: it belongs to `loss`, and to threads. `delivered` is the digest
    of the last turn's mini-batches if a loader has prepared them, from the pixels in `folder`. The
    framework's own loader is what the adapter has to `offer`.
    """

    offset_ns, between_ns, delivered = 0, 0, ""

    def __init__(
        self,
        inputs: np.ndarray,
        targets: np.ndarray,
        folder: Path | None = None,
        offer: Offer | None = None,
    ) -> None:
        self.inputs, self.targets, self.folder, self.offer = inputs, targets, folder, offer
        self.make_room()
        # A contender and its controls take turns in one process; each has its own count.
        self.steps: Counter[tuple[float, str]] = Counter()
        self.loaders: dict[str, Loader | OwnLoader] = {}

    def turn(
        self,
        trainer: Trainer,
        first: int,
        count: int,
        slowed_by: float = 0.0,
        loader: str = "",
        unread: bool = False,
    ) -> dict[str, list[Any]]:
        """Train on `count` mini-batches from number `first` on: the columns of their rows. The
        first one, and all of warm-up, are overwritten once they have been transferred, so that an
        adapter that has not copied them cannot agree. A loader's are digested, and stay. `unread`:
        of the losses only the last one is read, and nothing is overwritten, because nobody waits
        for copies either."""
        numbers = [(first + index) % len(self.inputs) for index in range(count)]
        warmup = not self.steps[slowed_by, loader]
        steps = enumerate(numbers, self.steps[slowed_by, loader])
        loading = self.loader(loader) if loader else None
        if loading:
            loading.start(numbers)
        fetch = loading.fetch if loading else None
        cpu = time.process_time_ns()
        rows = [
            self.measure(
                trainer, number, step, fetch,
                spoils=(warmup or not rank) and not (fetch or unread),
                reads=not unread or rank == count - 1,
            )
            for rank, (step, number) in enumerate(steps)
        ]  # fmt: skip
        self.between_ns = time.process_time_ns() - cpu - sum(row["cpu_ns"] for row in rows)
        self.steps[slowed_by, loader] += count
        self.delivered = loading.end() if loading else ""
        if self.host_inputs.nbytes > LARGE:
            self.make_room()  # which gives the memory back until the next turn
        if slowed_by:
            lengthen(rows, slowed_by)
        return {name: [row[name] for row in rows] for name in rows[0]}

    def make_room(self) -> None:
        """New arrays for a mini-batch. They take no memory before they are written to."""
        self.host_inputs = np.empty_like(self.inputs[0])
        self.host_targets = np.empty_like(self.targets[0])

    def loader(self, name: str) -> Loader | OwnLoader:
        if name not in self.loaders:
            assert self.folder and self.offer
            self.loaders[name] = new_loader(name, self.folder, self.targets, self.offer)
        return self.loaders[name]

    def fetch(self, number: int) -> MiniBatch:
        """Copy a stored mini-batch out of the memory map."""
        np.copyto(self.host_inputs, self.inputs[number])
        np.copyto(self.host_targets, self.targets[number])
        return self.host_inputs, self.host_targets

    def measure(
        self,
        trainer: Trainer,
        number: int,
        step: int,
        fetch: Callable[[int], MiniBatch] | None = None,
        spoils: bool = False,
        reads: bool = True,
    ) -> dict[str, Any]:
        """One mini-batch: data, transfer and step, each followed by the device's fence. `spoils`:
        between transfer and step, off the clock, the host's arrays become useless. The row begins
        later by as much, so that it ends when the step does. Unless it `reads` the loss, the row
        has none."""
        before = resource.getrusage(resource.RUSAGE_SELF)
        cpu = time.process_time_ns()
        fetch = fetch or self.fetch
        start = now()
        inputs, targets = fetch(number)
        fetched = now()
        batch = trainer.put(inputs, targets)
        trainer.synchronise()
        transferred = now()
        resting = time.process_time_ns()
        if spoils:
            overwrite(inputs, targets)
        resting, begin = time.process_time_ns() - resting, now()
        trainer.step(batch)
        trainer.synchronise()
        stepped = now()
        cpu = time.process_time_ns() - cpu - resting
        after = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "batch": number,
            "step": step,
            "start_ns": start + (begin - transferred) + self.offset_ns,
            "data_ns": fetched - start,
            "transfer_ns": transferred - fetched,
            "step_ns": stepped - begin,
            "cpu_ns": cpu,
            "switches": after.ru_nivcsw - before.ru_nivcsw,
            "minor_faults": after.ru_minflt - before.ru_minflt,
            "major_faults": after.ru_majflt - before.ru_majflt,
            "loss": as_loss(trainer.loss()) if reads else np.nan,
        }


def lengthen(rows: list[dict[str, Any]], slowed_by: float) -> None:
    """Busy-wait after a control's turn for `slowed_by` of its time, and add to each step its share.

    Waiting within the turn would make the next step slower, too, by 2 % on average and up to 5 %
    (docs/calibration.md), so the true ratio would not be known.
    """
    times = [row["transfer_ns"] + row["step_ns"] for row in rows]
    begin = now()
    waited = spin_until(begin + round(slowed_by * sum(times))) - begin
    for row, time_ns in zip(rows, times, strict=True):
        row["step_ns"] += round(waited * time_ns / sum(times))


def spin_until(end: int) -> int:
    """Read the clock until this time; the time of the last reading."""
    while (time_ns := now()) < end:
        pass
    return time_ns


def unfenced(
    trainer: Trainer,
    batches: BatchStream,
    results: Callable[[], Any] | None = None,
    copied: bool = False,
) -> float:
    """The share of the work that is still to be done when `synchronise` has returned.

    `results` reads what a step has computed beside the loss: the weights unless given. Each step
    is on the next of `batches`, brought over as in a contest, so that an adapter cannot
    distinguish the two. `copied`: results come from another device.
    """
    readers = read_by(trainer, results)
    fenced(trainer, batches, 1, readers)  # which may compile
    single = longest_ns(trainer, batches, readers)
    # Many steps, in case all are left undone; few steps, in case only the last one is.
    counts = {min(max(work // single, 1), 100) for work in FENCED_NS}
    share, sure = left_over(trainer, batches, counts, readers, single if copied else None)
    found = [share]
    # Of many small steps, the last one is a small share.
    if single < FENCED_NS[-1] or not sure:
        found += [unfinished(trainer, batches, *pair) for pair in permutations(readers)]
        found.append(min(postponed(trainer, batches, readers) for _ in range(FENCES)))
    return max(0.0, *found)


def read_by(trainer: Trainer, results: Callable[[], Any] | None = None) -> Readers:
    """Readers of the loss, which may compute only then, and of the results, or else the weights."""
    return (lambda: as_loss(trainer.loss()), results or trainer.weights)


def longest_ns(trainer: Trainer, batches: BatchStream, readers: Readers) -> int:
    """Nanoseconds of a step with what it may have left."""
    steps = [fenced(trainer, batches, 1, readers) for _ in range(FENCES)]
    return max(min(work + max(read - again, 0) for work, read, again in steps), 1)


def left_over(
    trainer: Trainer,
    batches: BatchStream,
    counts: Iterable[int],
    readers: Readers,
    copied_ns: int | None,
) -> tuple[float, bool]:
    """The largest share of `counts` steps that is left after them, and whether a second reading
    shows it. `copied_ns`: the longest step, if results come from another device."""

    def share(unread_ns: int | None = None) -> float:
        return max(late(trainer, batches, count, readers, unread_ns) for count in counts)

    found = share()
    unread_ns = None
    if copied_ns and found > LOOKED_AT:
        unread_ns = kept(trainer, batches, readers, copied_ns)
    return (share(unread_ns), False) if unread_ns else (found, True)


def unfinished(
    trainer: Trainer, batches: BatchStream, read: Callable[[], Any], other: Callable[[], Any]
) -> float:
    """The share of a single step that is left until `read` is called.

    Reading alone can take as long as a small step. So its time is compared with that of reading
    after the `other` reader has been called and the device has had time to finish.
    """
    work, at_once, later = [], [], []
    for _ in range(FENCES):
        work.append(step_ns(trainer, batches))
        at_once.append(timed(read)[1])
        later.append(rested(trainer, batches, read, other, RESTED_S))
    left = max(min(at_once) - median(later), 0.0)
    return left / (left + median(work) / 1e9)


def rested(
    trainer: Trainer,
    batches: BatchStream,
    read: Callable[[], Any],
    other: Callable[[], Any],
    rest_s: float,
) -> float:
    """Seconds that `read` takes of the results of a step that is done."""
    step_ns(trainer, batches)
    other()
    time.sleep(rest_s)
    return timed(read)[1]


def kept(trainer: Trainer, batches: BatchStream, readers: Readers, longest: int) -> int | None:
    """Nanoseconds that reading results that are done takes, if reading them again takes less than
    half of it: JAX keeps what it has copied from a GPU. Otherwise None. No step takes longer than
    `longest` nanoseconds."""
    rest_s = max(RESTED_S, longest / 1e9)
    once, twice = [], []
    for _ in range(FENCES):
        once.append(
            sum(rested(trainer, batches, *pair, rest_s) for pair in permutations(readers, 2))
        )
        twice.append(sum(timed(read)[1] for read in readers))
    return round(1e9 * median(once)) if median(twice) < median(once) / 2 else None


def postponed(trainer: Trainer, batches: BatchStream, readers: Readers) -> float:
    """The share of a step's work that waits until somebody reads the loss or takes the next step. A
    contest reads every loss, off the clock, unless a pitfall is that nobody does."""
    unread, read = [], []
    for _ in range(PAIRS):
        step_ns(trainer, batches)
        unread.append(step_ns(trainer, batches))
        for reader in readers:
            reader()
        read.append(step_ns(trainer, batches))
    return 1 - median(read) / median(unread)


def when_dropped(trainer: Trainer, batches: BatchStream) -> float:
    """The share of a step's work that is done when nothing refers to its mini-batch any more. A
    contest drops it off the clock."""

    def share() -> float:
        batch = trainer.put(*next(batches))
        trainer.synchronise()
        begin = now()
        trainer.step(batch)
        trainer.synchronise()
        done = now()
        del batch
        trainer.synchronise()
        return (now() - done) / (now() - begin)

    return min(share() for _ in range(FENCES))


def computed_again(trainer: Trainer, batches: BatchStream, read: Callable[[], Any]) -> float:
    """The share of a step's work that each call of `read` does anew: by how much it takes longer
    than reading the weights, which are as many numbers."""
    work, own, weights = [], [], []
    for _ in range(FENCES):
        work.append(step_ns(trainer, batches))
        own.append(timed(read)[1])
        weights.append(timed(trainer.weights)[1])
    more = max(min(own) - max(weights), 0.0)
    return more / (more + median(work) / 1e9)


def step_ns(trainer: Trainer, batches: BatchStream) -> int:
    """Nanoseconds of transfer and step on the next mini-batch, each with its fence."""
    pair = next(batches)
    begin = now()
    batch = trainer.put(*pair)
    trainer.synchronise()
    trainer.step(batch)
    trainer.synchronise()
    return now() - begin


def late(
    trainer: Trainer,
    batches: BatchStream,
    count: int,
    readers: Readers,
    unread_ns: int | None = None,
) -> float:
    """The share of `count` steps that is left after them. `unread_ns`: the time of reading alone,
    if a second reading does not show it. One disturbed try changes nothing."""
    tries = [fenced(trainer, batches, count, readers) for _ in range(FENCES)]
    work, read, again = zip(*tries, strict=True)
    left = max(min(read) - (median(again) if unread_ns is None else unread_ns), 0)
    return float(left / (left + median(work)))


def fenced(
    trainer: Trainer, batches: BatchStream, count: int, readers: Readers
) -> tuple[int, int, int]:
    """Nanoseconds of `count` steps with their fences, of reading what they have computed, and of
    reading it again.

    If work was left, the readers take longer the first time than the second time.
    """
    work = sum(step_ns(trainer, batches) for _ in range(count))
    done = now()
    first = [read() for read in readers]
    read = now()
    again = [read() for read in readers]
    end = now()
    del first, again  # not before: the second reading must not find the first one's memory
    return work, read - done, end - read
