"""How much energy this machine has used, if it tells: processors by RAPL, GPUs by NVML.

RAPL counts what a processor's package has used, whatever computed on it. Most virtual machines do
not show it, and since Linux 5.10 only root may read it
(https://docs.kernel.org/power/powercap/powercap.html).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from workflows.machine import fingerprint, gpu

POWERCAP = "sys/class/powercap"
READ, NOT_READ = "read before and after each turn", "not read: "


class Meter(NamedTuple):
    """Microjoules so far. The counter starts again from 0 beyond `range_uj`, after some minutes."""

    uj: int
    range_uj: int


@dataclass(frozen=True)
class Reading:
    """The counter of each processor package, and millijoules of all GPUs; empty or None if the
    machine does not tell."""

    packages: Mapping[str, Meter] = field(default_factory=dict)
    gpus_mj: int | None = None


def reading() -> Reading:
    return Reading(packages(), gpu.energy_mj())


def joules_between(before: Reading, after: Reading) -> dict[str, float | None]:
    """The fields of a `TurnRecord` that follow from two readings, in joules."""
    gpus_mj = None
    if before.gpus_mj is not None and after.gpus_mj is not None:
        gpus_mj = after.gpus_mj - before.gpus_mj
    packages_uj = None
    if before.packages and before.packages.keys() == after.packages.keys():
        packages_uj = sum(
            grown(meter, after.packages[zone]) for zone, meter in before.packages.items()
        )
    return {"package_j": joules(packages_uj, 1e6), "gpu_j": joules(gpus_mj, 1e3)}


def grown(before: Meter, after: Meter) -> int:
    """Microjoules between two readings, in which the counter started again at most once."""
    passed = after.uj - before.uj
    return passed if passed >= 0 else passed + before.range_uj


def joules(counted: int | None, in_a_joule: float) -> float | None:
    """None if the counter went back, as it does if its driver is loaded again."""
    return None if counted is None or counted < 0 else counted / in_a_joule


def packages() -> dict[str, Meter]:
    """The counter of each processor package; none if one of them cannot be read."""
    found = {}
    for zone in zones():
        folder = fingerprint.SYSTEM / POWERCAP / zone
        try:
            values = [
                int((folder / name).read_text()) for name in ("energy_uj", "max_energy_range_uj")
            ]
        except (OSError, ValueError):
            return {}
        found[zone] = Meter(*values)
    return found


def zones() -> list[str]:
    """The folders of the packages, and not of their parts or the whole platform."""
    found = sorted((fingerprint.SYSTEM / POWERCAP).glob("intel-rapl:*"))
    return [
        zone.name
        for zone in found
        if fingerprint.read(f"{POWERCAP}/{zone.name}/name").startswith("package")
    ]


def described() -> dict[str, str]:
    """Whether the processor and the GPUs tell, or why they do not."""
    said = {"processor": READ if packages() else f"{NOT_READ}{silence()}"}
    if gpu.kept_open():
        tells = gpu.energy_mj() is not None
        said["gpu"] = READ if tells else f"{NOT_READ}NVML does not tell it for each GPU"
    return said


def silence() -> str:
    if not (fingerprint.SYSTEM / POWERCAP).is_dir():
        return f"this machine's processor does not tell it (no /{POWERCAP})"
    if not zones():
        return f"this machine's processor does not tell it (no package in /{POWERCAP})"
    return f"energy_uj in /{POWERCAP} cannot be read, which usually only root may"
