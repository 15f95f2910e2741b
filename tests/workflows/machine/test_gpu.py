"""GPUs as NVML describes them, and none without it."""

import sys
from types import SimpleNamespace

import pytest

from workflows.machine import gpu
from workflows.machine.gpu import Gpu, computing, cuda_driver, energy_mj, gpus


class NVMLError(Exception):
    pass


@pytest.fixture(autouse=True)
def fresh():
    gpu.kept_open.cache_clear()
    yield
    gpu.kept_open.cache_clear()


def refused(*_):
    raise NVMLError("Not Supported")


def driver(**changes):
    """nvidia-ml-py for a machine with an H200 at index 0 and a GB10 at index 1."""
    answers = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "570.86.15",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 12080,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": ["NVIDIA H200", "NVIDIA GB10"].__getitem__,
        "nvmlDeviceGetMemoryInfo": lambda gpu: (
            refused() if gpu else SimpleNamespace(total=143771 * 2**20 + 5)
        ),
        "nvmlDeviceGetClockInfo": lambda gpu, kind: refused() if gpu else 345,
        "nvmlDeviceGetMaxClockInfo": lambda gpu, kind: 1980,
        "nvmlDeviceGetCurrentClocksEventReasons": lambda gpu: refused() if gpu else 0x04 | 0x60,
        "nvmlDeviceGetComputeRunningProcesses": lambda gpu: [SimpleNamespace(pid=40 + gpu)],
        "nvmlDeviceGetTotalEnergyConsumption": lambda gpu: 1000 * (gpu + 1),
    }
    return SimpleNamespace(NVMLError=NVMLError, NVML_CLOCK_SM=1, **{**answers, **changes})


def test_gpus_as_nvml_lists_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", driver())
    assert gpus() == [
        Gpu("NVIDIA H200", "570.86.15", 143771, 345, 1980, "power cap, heat"),
        Gpu("NVIDIA GB10", "570.86.15", None, None, 1980, "not readable"),
    ]
    assert cuda_driver() == "12.8"
    idle = driver(nvmlDeviceGetCurrentClocksEventReasons=lambda gpu: 0x01)
    monkeypatch.setitem(sys.modules, "pynvml", idle)
    assert [found.throttled for found in gpus()] == ["no", "no"]


@pytest.mark.parametrize(
    "library", [None, driver(nvmlInit=refused), driver(nvmlSystemGetDriverVersion=refused)]
)
def test_without_a_driver_there_is_no_gpu(monkeypatch, library):
    monkeypatch.setitem(sys.modules, "pynvml", library)  # None: it cannot be imported
    assert gpus() == []


def test_no_cuda_without_a_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", driver(nvmlInit=refused))
    assert cuda_driver() == ""


def test_processes_are_those_of_all_gpus(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", driver())
    assert computing() == {40, 41}
    silent = driver(
        nvmlDeviceGetComputeRunningProcesses=lambda gpu: (
            [SimpleNamespace(pid=41)] if gpu else refused()
        )
    )
    monkeypatch.setitem(sys.modules, "pynvml", silent)
    assert computing() == {41}
    monkeypatch.setitem(sys.modules, "pynvml", driver(nvmlInit=refused))
    assert computing() == set()


def test_energy_is_that_of_all_gpus(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", driver())
    assert energy_mj() == 3000
    silent = driver(nvmlDeviceGetTotalEnergyConsumption=lambda gpu: refused() if gpu else 1)
    monkeypatch.setitem(sys.modules, "pynvml", silent)
    assert energy_mj() is None


def test_without_a_driver_there_is_no_energy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", driver(nvmlInit=refused))
    assert energy_mj() is None


def test_nvml_is_ended_also_after_an_error(monkeypatch):
    calls = []
    failing = driver(nvmlShutdown=lambda: calls.append("end"), nvmlDeviceGetCount=refused)
    monkeypatch.setitem(sys.modules, "pynvml", failing)
    assert gpus() == [] and calls == ["end"]
