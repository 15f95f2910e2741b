"""Interference in turns: read from the kernel's files; what a system does not have is None."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from workflows.machine.energy import Meter, Reading
from workflows.machine.fingerprint import available_cores
from workflows.measure.interference import MOST, Counters, Schedule, Ticks, between, read_counters

STAT = """\
cpu  900 10 90 5000 7 0 3 40 0 0
cpu0 500 10 50 2000 5 1 2 30 0 0
cpu1 400 0 40 3000 2 0 1 10 0 0
intr 388745 0 0
"""
CPUINFO = "processor\t: 0\ncpu MHz\t\t: 2600.0\n\nprocessor\t: 1\ncpu MHz\t\t: 1300.5\n"
PRESSURE = "some avg10=1.12 avg60=1.23 avg300=1.03 total=11406297\nfull avg10=0.00 total=7\n"


@pytest.fixture
def whole(files):
    files("proc/stat", STAT)
    files("proc/cpuinfo", CPUINFO)
    files("proc/pressure/cpu", PRESSURE)
    files("proc/77/task/77/schedstat", "1000000000 5000000 12\n")
    files("proc/77/task/78/schedstat", "200 30 1\n")
    return files


def test_everything_is_read(whole):
    seen = read_counters(77, [1])
    assert seen.ticks == {0: Ticks(563, 30), 1: Ticks(441, 10)}
    assert seen.threads == {77: Schedule(1_000_000_000, 5_000_000), 78: Schedule(200, 30)}
    assert (seen.mhz, seen.pressure_us, seen.throttles) == (1300.5, 11406297, None)


def test_threads_of_a_second_worker_are_the_contenders_own(whole):
    whole("proc/77/task/77/children", "90 ")
    whole("proc/90/task/91/schedstat", "300 40 1\n")
    assert read_counters(77, [1]).threads[91] == Schedule(300, 40)


def test_frequency_and_heat_of_the_cores_asked_about(whole):
    cpu = "sys/devices/system/cpu/cpu"
    for core, khz, hot in ((0, 3_000_000, 5), (1, 2_000_000, 7)):
        whole(f"{cpu}{core}/cpufreq/scaling_cur_freq", f"{khz}\n")
        whole(f"{cpu}{core}/thermal_throttle/core_throttle_count", f"{hot}\n")
    assert (read_counters(77, [0]).mhz, read_counters(77, [0]).throttles) == (3000, 5)
    assert (read_counters(77, [0, 1]).mhz, read_counters(77, [0, 1]).throttles) == (2500, 12)
    assert read_counters(77, []).mhz is None


def test_a_turn_is_what_passed_between_two_looks():
    before = Counters(
        0,
        [1],
        {0: Ticks(100, 4), 1: Ticks(200, 5)},
        {7: Schedule(10**9, 10**8)},
        2600.0,
        3,
        100,
        Reading({"intel-rapl:0": Meter(1_000_000, 10**9)}),
    )
    after = Counters(
        500_000_000, [1], {0: Ticks(130, 4), 1: Ticks(248, 7)},
        {7: Schedule(1_400_000_000, 150_000_000), 9: Schedule(20_000_000, 1_000_000)},
        2400.0, 4, 60_100, Reading({"intel-rapl:0": Meter(2_500_000, 10**9)}),
    )  # fmt: skip
    assert between(before, after) == {
        "duration_s": 0.5,
        "cpu_s": 0.42,  # with a thread that is new
        "waited_s": 0.051,
        "steal_s": 0.02,
        "other_s": 0.06,
        "elsewhere_s": 0.3,
        "pressure_s": 0.06,
        "mhz": 2400.0,
        "throttles": 1,
        "package_j": 1.5,
        "gpu_j": None,
    }


def test_ticks_that_came_late_are_kept_as_they_are():
    """A negative remainder is rounding, which has to cancel when turns are added up."""
    before = Counters(0, [0], {0: Ticks(0, 0)}, {7: Schedule(0, 0)})
    after = Counters(10**8, [0], {0: Ticks(9, 0)}, {7: Schedule(95_000_000, 0)})
    assert between(before, after)["other_s"] == -0.005


def test_processes_that_a_worker_has_started_are_its_own(whole):
    """Like those that prepare its mini-batches: they are no other load."""
    whole("proc/77/task/77/children", "79 ")
    whole("proc/79/task/79/schedstat", "3000 40 2\n")
    seen = read_counters(77, [0]).threads
    assert set(seen) == {77, 78, 79} and seen[79] == Schedule(3000, 40)


def test_a_long_line_of_processes_is_read_as_far_as_it_matters(whole):
    for number in range(77, 77 + 1200):
        whole(f"proc/{number}/task/{number}/children", f"{number + 1} ")
        whole(f"proc/{number}/task/{number}/schedstat", "3000 40 2\n")
    assert len(read_counters(77, [0]).threads) == MOST


def test_a_thread_that_ended_takes_nothing_back():
    before = Counters(0, [], threads={7: Schedule(5, 5), 8: Schedule(10**9, 10**9)})
    after = Counters(10**9, [], threads={7: Schedule(1_000_000_005, 5)})
    found = between(before, after)
    assert (found["cpu_s"], found["waited_s"]) == (1.0, 0.0)


def test_counters_that_fall_are_of_another_core_or_thread():
    """A core that goes takes its count along; the kernel uses a thread's number again."""
    before = Counters(0, [0], threads={7: Schedule(10**9, 10**9)}, throttles=5, pressure_us=900)
    after = Counters(
        10**9, [0], threads={7: Schedule(4 * 10**6, 10**6)}, throttles=2, pressure_us=9
    )
    found = between(before, after)
    assert (found["throttles"], found["pressure_s"]) == (None, None)
    assert (found["cpu_s"], found["waited_s"]) == (0.004, 0.001)


def test_without_any_file_everything_is_none_but_the_time(files):
    found = between(read_counters(77, [0]), read_counters(77, [0]))
    assert found.pop("duration_s") >= 0
    assert found and set(found.values()) == {None}


@pytest.mark.parametrize(
    ("name", "text", "lost"),
    [
        ("proc/stat", "cpu0 1 2\ncpu1 a b c d e f g h\n", "steal_s other_s elsewhere_s"),
        ("proc/stat", "", "steal_s other_s elsewhere_s"),
        ("proc/stat", "nothing of the kind\n", "steal_s other_s elsewhere_s"),
        ("proc/cpuinfo", "processor : x\ncpu MHz : fast\n", "mhz"),
        ("proc/pressure/cpu", "some avg10=0.1\n", "pressure_s"),
        ("proc/pressure/cpu", "some total=many\n", "pressure_s"),
        ("proc/77/task/77/schedstat", "1 2\n", ""),  # the other thread has one
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "<unknown>\n", ""),
    ],
)
def test_what_is_malformed_is_none_and_the_rest_is_there(whole, name, text, lost):
    whole(name, text)
    found = between(read_counters(77, [0]), read_counters(77, [0]))
    absent = {key for key, value in found.items() if value is None}
    assert absent == {"throttles", "package_j", "gpu_j", *lost.split()}


def test_no_thread_can_be_read(whole, tmp_path):
    for path in tmp_path.glob("proc/77/task/*/schedstat"):
        path.unlink()
    found = between(read_counters(77, [0]), read_counters(77, [0]))
    assert found["cpu_s"] is None and found["waited_s"] is None and found["other_s"] is None
    assert found["steal_s"] == 0


def test_cores_that_the_system_does_not_list_have_no_ticks(whole):
    found = between(read_counters(77, [0, 5]), read_counters(77, [0, 5]))
    assert found["steal_s"] is None and found["other_s"] is None and found["mhz"] == 2600


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="no /proc/<pid>/schedstat on this system"
)


@pytest.mark.quiet
@needs_proc
def test_a_look_is_quick():
    taken = []
    for _ in range(20):
        begin = time.perf_counter()
        read_counters(os.getpid(), available_cores())
        taken.append(time.perf_counter() - begin)
    assert min(taken) < 0.01


@pytest.mark.quiet
@needs_proc
def test_processor_time_is_that_of_the_process():
    before = read_counters(os.getpid(), available_cores())
    own = time.process_time()
    while time.process_time() - own < 0.05:
        pass
    found = between(before, read_counters(os.getpid(), available_cores()))
    assert 0.05 <= found["cpu_s"] < 0.05 + found["duration_s"]
    assert found["waited_s"] >= 0


def test_every_turn_has_its_interference(contested):
    record, rows = contested
    keys = ["contender", "round", "position"]
    batches = rows.groupby(keys).agg(
        switches=("switches", "sum"), first=("start_ns", "min"), step=("step_ns", "sum")
    )
    turns = {(t.contender, t.round, t.position): t for t in record.turns}
    assert len(turns) == len(record.turns) == len(batches)
    for key, row in batches.iterrows():
        turn = turns[key]
        assert turn.switches == row.switches
        assert turn.start_ns <= row["first"]
        assert row["first"] + row.step <= turn.start_ns + turn.duration_s * 1e9 + 1000


def test_a_turn_in_which_the_worker_fails_leaves_no_interference(study):
    variants = ["default", "raises"]
    record, _ = study(contenders=[{"framework": "abacus", "variants": variants}]).contest()
    found = [turn.contender.split("/")[1] for turn in record.turns]
    assert found.count("default") == 5 and found.count("raises") == 1


@pytest.mark.quiet
@needs_proc
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be pinned here")
def test_a_busy_neighbour_on_the_same_core_is_seen(study, tmp_path):
    """A process that computes on the contender's core takes its share, and the turns know."""
    from analysis.data.results import Machine
    from analysis.findings.interference import turn_lines
    from tests.analysis.recipe import Recipe
    from tests.analysis.synthetic import make_records

    workload = {"mlp": {"features": 600, "hidden": [600], "samples": 640, "batch": 32}}
    deal = {"warmup": 2, "rounds": 3, "turn": 12, "discard": 1}
    made = study(workloads=workload, contest=deal, replicates=3)
    core = available_cores()[-1]
    program = f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"
    records, taken = [], {}
    for replicate, disturbed in ((1, False), (2, True)):
        neighbours = [
            subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
            for _ in range(3 * disturbed)
        ]
        try:
            record, _ = made.contest(replicate=replicate)
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()
        records.append(record)
        dealt = [turn for turn in record.turns if turn.round]
        taken[disturbed] = sum(t.waited_s for t in dealt) / sum(t.duration_s for t in dealt)
    empty = make_records(Recipe(workloads=("mlp",)), records)
    lines = [line for line in turn_lines(Machine(empty, None)) if line.turn.round]
    hit = [line for line in lines if line.replicate == 2]
    assert all("other load" in line.reasons for line in hit), hit
    assert taken[True] > 2 * taken[False] or taken[False] > 0.2  # else it was not quiet before
