"""Which machine this is: a folder name for its results, and its cores.

The Snakefile asks each time it is parsed, so everything comes from the system's own files.
NVML or a command answers only if there is no file.
"""

import hashlib
import json
import math
import os
import platform
import re
import subprocess
from itertools import takewhile
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from workflows.machine.gpu import gpus

SYSTEM = Path("/")
SALT = "samestep machine"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
NOISE = re.compile(r"\([^)]*\)|@.*|\bwith .*|\b\d+(-core|th gen)\b|\b(processor|cpu|nvidia)\b")


def fingerprint() -> str:
    """A folder-safe name of this machine, like `amd-epyc-2c-24gb-1f3a9b`.

    It stays the same after a reboot or a kernel update. It changes with the processor, the cores
    that this process may use, the memory or the GPUs. `SAMESTEP_MACHINE` overrides it.

    Raises:
        ValueError: `SAMESTEP_MACHINE` is not usable as a folder name.
    """
    chosen = os.environ.get("SAMESTEP_MACHINE", "")
    if chosen:
        if NAME.fullmatch(chosen):
            return chosen
        raise ValueError(
            f"SAMESTEP_MACHINE={chosen!r}: use up to 100 letters, digits, '.', '_' and '-', "
            "a letter or digit first"
        )
    model, cores, names = cpu_model(), len(available_cores()), gpu_names()
    memory = memory_as_sold(psutil.virtual_memory().total)
    secret = hashlib.sha256(f"{SALT} {identity()}".encode()).hexdigest()
    described = json.dumps([model, cores, memory, names, secret])
    parts = [slug(model) or slug(platform.machine()) or "cpu", f"{cores}c", f"{memory}gb"]
    if names:
        count = f"{len(names)}x-" if len(names) > 1 else ""
        parts.append(count + (slug(names[0]) or "gpu"))
    return "-".join([*parts, hashlib.sha256(described.encode()).hexdigest()[:6]])


def available_cores() -> list[int]:
    """The logical cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def gpu_names() -> list[str]:
    """Names of the GPUs, sorted; from the driver's files, because NVML has to start each GPU."""
    listed = sorted((SYSTEM / "proc/driver/nvidia/gpus").glob("*/information"))
    names = [fields(path.read_text(errors="replace")).get("Model", "Unknown") for path in listed]
    # The driver writes "Unknown" until the GPU is started, which NVML does.
    if not names or "Unknown" in names:
        names = [gpu.name for gpu in gpus()]
    return sorted(names)


def cpu_model() -> str:
    """The processor's name; its implementer and part if the system does not know the name (ARM)."""
    first = processor()
    if first.get("model name"):
        return first["model name"]
    if first.get("CPU part"):
        return f"{platform.machine()} {first.get('CPU implementer', '')} {first['CPU part']}"
    return printed("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()


def processor() -> dict[str, str]:
    """What /proc/cpuinfo says of the first logical core, {} without that file."""
    try:
        with (SYSTEM / "proc/cpuinfo").open(errors="replace") as lines:
            return fields("".join(takewhile(str.strip, lines)))
    except OSError:
        return {}


def memory_as_sold(total: int) -> int:
    """GiB of memory, rounded up to a sixteenth of the next power of two.

    The kernel keeps a few per cent for itself, and an update may change that share.
    """
    gib = total / 2**30
    step = max(1, round(math.exp2(math.ceil(math.log2(gib)) - 4)))
    return math.ceil(gib / step) * step


def identity() -> str:
    """What differs between two equal machines. It must not be written down anywhere."""
    known = read("etc/machine-id") or read("var/lib/dbus/machine-id")
    if not known and platform.system() == "Darwin":
        device = printed("ioreg", "-rd1", "-c", "IOPlatformExpertDevice")
        known = "".join(re.findall(r'"IOPlatformUUID" = "([^"]+)"', device))
    return known or platform.node()


def slug(text: str) -> str:
    """A short lower-case name of a processor or GPU, without marks and clock rates."""
    kept = NOISE.sub(" ", text.lower())
    return re.sub(r"[^a-z0-9]+", "-", kept).strip("-")[:28].strip("-")


def fields(text: str) -> dict[str, str]:
    """The `key : value` lines of a file under /proc."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def read(name: str) -> str:
    """A small file of the system without its white space, "" if it cannot be read."""
    try:
        return (SYSTEM / name).read_text(errors="replace").strip()
    except OSError:
        return ""


def printed(*command: str, timeout_s: float = 10.0) -> str:
    """What a command prints, "" if it is missing, fails or hangs."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=timeout_s
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
