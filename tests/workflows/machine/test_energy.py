"""Energy as an imaginary /sys/class/powercap has it, in part or not at all."""

import pytest

from workflows.machine.energy import Meter, Reading, described, joules_between, packages, reading

AROUND = 262_143_328_850


@pytest.fixture
def powercap(files):
    """A server of two packages, with what belongs to them and what they belong to."""

    def put(uj=(5_000_000, 7_000_000)):
        zones = {"0": "package-0", "0:0": "core", "0:1": "dram", "1": "package-1", "2": "psys"}
        counts = {"0": uj[0], "1": uj[1]}
        for zone, name in zones.items():
            folder = f"sys/class/powercap/intel-rapl:{zone}"
            files(f"{folder}/name", f"{name}\n")
            files(f"{folder}/energy_uj", f"{counts.get(zone, 10**9)}\n")
            files(f"{folder}/max_energy_range_uj", f"{AROUND}\n")

    put()
    return put


def test_packages_are_added_up_and_nothing_twice(powercap):
    assert packages() == {
        "intel-rapl:0": Meter(5_000_000, AROUND), "intel-rapl:1": Meter(7_000_000, AROUND)
    }  # fmt: skip
    before = reading()
    powercap((6_500_000, 7_250_000))
    assert joules_between(before, reading())["package_j"] == 1.75
    assert described()["processor"] == "read before and after each turn"


def test_a_counter_that_starts_again_goes_on(powercap):
    powercap((AROUND - 1_000_000, 0))
    before = reading()
    powercap((500_000, 0))
    assert joules_between(before, reading())["package_j"] == 1.5


def test_what_only_root_may_read_is_none_with_its_reason(powercap, tmp_path):
    before = reading()
    locked = tmp_path / "sys/class/powercap/intel-rapl:1/energy_uj"
    locked.unlink()
    locked.mkdir()  # cannot be read as a file, not even by root
    assert packages() == {}
    assert joules_between(before, reading()) == {"package_j": None, "gpu_j": None}
    assert described()["processor"].startswith("not read: energy_uj in /sys/class/powercap")


def test_without_counters_the_reason_is_said(files):
    said = "not read: this machine's processor does not tell it (no {}/sys/class/powercap)"
    assert described() == {"processor": said.format("")}
    files("sys/class/powercap/dtpm/name", "dtpm\n")
    assert described() == {"processor": said.format("package in ")}
    assert joules_between(reading(), reading()) == {"package_j": None, "gpu_j": None}


def test_a_driver_that_was_loaded_again_tells_nothing_of_that_turn():
    found = joules_between(Reading(gpus_mj=9000), Reading(gpus_mj=100))
    assert found["gpu_j"] is None
    assert joules_between(Reading(gpus_mj=100), Reading(gpus_mj=1600))["gpu_j"] == 1.5
