"""What this process takes of the machine's memory, as the kernel counts it (`man 5 proc`). None if
the system does not say."""

from contextlib import suppress
from pathlib import Path

PROCESS = Path("/proc/self")
MIB = 1024  # in the kernel's kB


def forget_peak() -> None:
    """Let `peak_mib` be about what comes now."""
    with suppress(OSError):
        (PROCESS / "clear_refs").write_text("5")


def peak_mib() -> float | None:
    """The most memory that was resident at one time, in MiB."""
    return status("VmHWM")


def resident_mib() -> float | None:
    return status("VmRSS")


def status(name: str) -> float | None:
    with suppress(OSError, ValueError):
        for line in (PROCESS / "status").read_text().splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return round(int(value.split()[0]) / MIB, 1)
    return None
