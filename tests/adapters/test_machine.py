"""The machine's own computations: right, counted right, and spread over the threads asked for."""

import os
import threading
from itertools import pairwise

import numpy as np
import pytest

from frameworks.contract import SETTINGS, Conditions, Unavailable
from frameworks.machine.adapter import LENGTH, ORDER, SCALE, Computation, MachineAdapter

THREADS = (1, 2, 3)  # 3 divides neither length


def trainer(variant: str, threads: int):
    return MachineAdapter(Conditions(threads=threads)).trainer(None, {}, variant)


def after_a_pass(variant: str, threads: int) -> Computation:
    built = trainer(variant, threads)
    result = built.computation.c if variant == "product" else built.computation.a
    result.fill(np.nan)
    built.step(built.put(np.zeros(1), np.zeros(1)))
    built.synchronise()
    return built.computation


@pytest.mark.parametrize("threads", THREADS)
def test_the_product_is_that_of_numpy(threads):
    done = after_a_pass("product", threads)
    assert done.c.dtype == np.float32 and done.c.shape == (ORDER, ORDER)
    np.testing.assert_allclose(done.c, done.a.astype(float) @ done.b.astype(float), rtol=1e-5)


@pytest.mark.parametrize("threads", THREADS)
def test_the_stream_is_a_triad(threads):
    done = after_a_pass("stream", threads)
    assert done.a.dtype == np.float32 and done.a.shape == (LENGTH,)
    np.testing.assert_array_equal(done.a, done.b + SCALE * done.c)


def test_a_pass_tells_its_work():
    product, stream = (trainer(variant, 2).settings() for variant in ("product", "stream"))
    assert product["flop_per_pass"] == 2 * ORDER**3 and "bytes_per_pass" not in product
    assert stream["bytes_per_pass"] == 3 * 4 * LENGTH and "flop_per_pass" not in stream
    for settings in (product, stream):
        assert settings["intra_threads"] == 2 and set(SETTINGS) <= set(settings)


@pytest.mark.parametrize("threads", THREADS)
def test_all_threads_compute_at_the_same_time(threads, monkeypatch):
    """Each part waits for the others, so a part that came late would break the barrier. Each
    thread stays on a core of its own: left to the kernel, two of them shared one core."""
    built, parts = trainer("product", threads), []
    barrier = threading.Barrier(threads)

    def part(first: int, last: int) -> None:
        barrier.wait(timeout=10)
        parts.append((first, last, cores()))

    monkeypatch.setattr(built.computation, "part", part)
    built.step(None)
    if available := cores():
        assert all(len(own) == 1 for *_, own in parts)
        assert len(set().union(*(own for *_, own in parts))) == min(threads, len(available))
    ends = sorted((first, last) for first, last, _ in parts)
    assert ends[0][0] == 0 and ends[-1][1] == ORDER
    assert all(one[1] == other[0] for one, other in pairwise(ends))


def cores() -> set[int]:
    """That the calling thread may run on; none if the system cannot say."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def test_trainers_of_several_workloads_share_the_arrays():
    adapter = MachineAdapter(Conditions())
    one, other = (adapter.trainer(None, {}, "product") for _ in range(2))
    assert one.computation is other.computation


def test_only_the_processor_is_timed():
    with pytest.raises(Unavailable, match="processor"):
        MachineAdapter(Conditions(device="gpu"))
