"""What NumPy computes for certificates side by side is computed once."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from workflows.certify.following import once


def test_what_two_contenders_ask_for_is_computed_once() -> None:
    """And nothing beside anything else, because a large network takes gigabytes."""
    computing, computed = Lock(), []

    @once
    def compute(number: int) -> int:
        assert computing.acquire(blocking=False), "something else is computed now"
        time.sleep(0.02)
        computed.append(number)
        computing.release()
        return 10 * number

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(compute, [1, 1, 2, 2])) == [10, 10, 20, 20]
    assert sorted(computed) == [1, 2]
