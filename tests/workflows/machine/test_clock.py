"""Files of the future are of the present, in the order that they had."""

import os

from workflows.machine.clock import set_right

HOUR_NS = 3600 * 10**9


def test_what_is_from_the_future_is_of_now_in_its_order(tmp_path):
    now = tmp_path.stat().st_mtime_ns  # of what was made just now
    times = {"old": now - HOUR_NS, "first": now + HOUR_NS, "then": now + 2 * HOUR_NS}
    (tmp_path / "below").mkdir()
    for name, when in {**times, "too": times["then"]}.items():
        path = tmp_path / "below" / name
        path.touch()
        os.utime(path, ns=(when, when))
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    set_right([tmp_path, tmp_path / "gone"])
    (tmp_path / "new").touch()
    new = (tmp_path / "new").stat().st_mtime_ns
    found = {name: (tmp_path / "below" / name).stat().st_mtime_ns for name in [*times, "too"]}
    assert found["old"] == times["old"]
    assert found["old"] < found["first"] < found["then"] == found["too"] < new
