"""The NVIDIA GPUs of this machine, from NVML, the driver's own library behind nvidia-smi."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

# Bits of nvmlDeviceGetCurrentClocksEventReasons (nvml.h) that mean a lower clock than usual.
THROTTLING = {0x04: "power cap", 0x08: "hardware", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}


@dataclass(frozen=True)
class Gpu:
    """One GPU at this moment.

    Memory is in MiB, None if the GPU has none of its own. The clocks of the multiprocessors are in
    MHz, None if unknown. `throttled` says what lowers the clock: "no", the causes, or "not
    readable".
    """

    name: str
    driver: str
    memory_mib: int | None
    mhz: int | None = None
    max_mhz: int | None = None
    throttled: str = "not readable"


def gpus() -> list[Gpu]:
    """The GPUs that NVML lists, none without a driver."""
    return asked(listed, [])


def cuda_driver() -> str:
    """The newest CUDA that the driver supports, "" without a driver."""
    version = asked(lambda nvml: int(nvml.nvmlSystemGetCudaDriverVersion_v2()), 0)
    return f"{version // 1000}.{version % 1000 // 10}" if version else ""


@cache
def kept_open() -> bool:
    """Whether there is a GPU. NVML then stays open, because opening it takes long."""
    return asked(lambda nvml: nvml.nvmlDeviceGetCount() > 0 and not nvml.nvmlInit(), False)


def computing() -> set[int]:
    """The numbers of the processes that compute on a GPU, none without a driver. In a container,
    NVML may know them by other numbers than their own."""
    return asked(computing_pids, set())


def computing_pids(nvml: Any) -> set[int]:
    found: set[int] = set()
    for handle in handles(nvml):
        with suppress(nvml.NVMLError):  # this GPU does not tell
            found |= {one.pid for one in nvml.nvmlDeviceGetComputeRunningProcesses(handle)}
    return found


def energy_mj() -> int | None:
    """Millijoules that all GPUs have used; None if there is none, or if one does not tell."""
    return asked(total_mj, None) if kept_open() else None


def total_mj(nvml: Any) -> int:
    return sum(nvml.nvmlDeviceGetTotalEnergyConsumption(handle) for handle in handles(nvml))


def handles(nvml: Any) -> list[Any]:
    return [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]


def asked(question: Callable[[Any], T], otherwise: T) -> T:
    """NVML's answer, or `otherwise` if nvidia-ml-py, the driver or the answer is missing."""
    try:
        import pynvml
    except ImportError:
        return otherwise
    try:
        pynvml.nvmlInit()
        try:
            return question(pynvml)
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return otherwise


def listed(nvml: Any) -> list[Gpu]:
    driver = nvml.nvmlSystemGetDriverVersion()
    return [described(nvml, handle, driver) for handle in handles(nvml)]


def described(nvml: Any, handle: Any, driver: str) -> Gpu:
    """One GPU. A GPU does not support every question; only its name is certain."""

    def known(question: str, *arguments: Any) -> Any:
        try:
            return getattr(nvml, question)(handle, *arguments)
        except nvml.NVMLError:
            return None

    memory = known("nvmlDeviceGetMemoryInfo")
    reasons = known("nvmlDeviceGetCurrentClocksEventReasons")
    throttled = "not readable"
    if reasons is not None:
        causes = [cause for bit, cause in THROTTLING.items() if reasons & bit]
        throttled = ", ".join(dict.fromkeys(causes)) or "no"
    return Gpu(
        name=nvml.nvmlDeviceGetName(handle),
        driver=driver,
        memory_mib=None if memory is None else memory.total // 2**20,
        mhz=known("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
        max_mhz=known("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
        throttled=throttled,
    )
