"""The line through the times of all sizes, and what it says of a direction."""

from pathlib import Path

import pytest

from analysis.data.reading import read as read_records
from analysis.literature.transfer import (
    COPY,
    DIRECTIONS,
    PUT,
    Way,
    bandwidths,
    finding,
    line,
    moved,
    shares,
    times,
    written,
)
from tests.analysis.literature.conftest import write_tables
from tests.conftest import ROOT

SIZES = [4096, 32768, 262144, 2097152]


def test_the_line_is_found_again_though_a_point_is_far_off() -> None:
    values = [5 + 1e-4 * size for size in SIZES]
    assert line(SIZES, values) == pytest.approx((5, 1e-4))
    values[1] *= 3
    assert line(SIZES, values) == pytest.approx((5, 1e-4))


def test_no_time_is_below_zero_if_a_line_can_do_without() -> None:
    constant, slope = line([1, 2, 4], [1.0, 4.0, 8.0])
    assert constant >= 0 and slope > 0


def test_a_bandwidth_is_bytes_over_time_beside_that_of_copying() -> None:
    found = {
        Way(PUT, "jax", "cpu", 1): {size: [2 + size / 5e3] * 5 for size in SIZES},
        Way(COPY, "jax", "cpu", 1): {size: [1 + size / 10e3] * 5 for size in SIZES},
    }
    put, copied = bandwidths(found)
    assert (put.latency_us, put.gb_s, put.over_copy) == pytest.approx((2, 5, 0.5))
    assert (copied.gb_s, copied.low, copied.high, copied.over_copy) == pytest.approx(
        (10,) * 3 + (1,)
    )
    assert [row.gb_s for row in moved(found)][:1] == pytest.approx([4096 / (2 + 4096 / 5e3) / 1e3])
    assert finding([put, copied], []) == (
        "Bringing numbers to the device reaches 0.5 times the bytes a second of copying them there."
    )


def test_the_committed_study_has_all_directions_and_sizes() -> None:
    (folder,) = (ROOT / "reports" / "transfer" / "machines").iterdir()
    found = times(read_records(folder))
    assert {way.direction for way in found} == {*DIRECTIONS}
    assert {len(sizes) for sizes in found.values()} == {9}
    assert all(len(own) >= 5 for sizes in found.values() for own in sizes.values())


def test_a_share_is_of_transfer_and_step() -> None:
    for row in shares(ROOT / "reports" / "reference"):
        assert row.share == pytest.approx(row.transfer_ms / (row.transfer_ms + row.step_ms))
        assert 0 < row.share < 1


def test_sizes_are_written_as_memory_is_sold() -> None:
    assert [written(size) for size in (4096, 2**20, 2**26)] == ["4 kB", "1 MB", "64 MB"]


def test_a_brief_reports_shares_come_from_its_records(tmp_path: Path) -> None:
    write_tables("fence", tmp_path / "fence")
    found = shares(ROOT / "reports" / "fence")
    assert found == shares(tmp_path / "fence") and len(found) > 1
