"""The conditions under which a contest ran, if they could affect times; nothing personal.

Records are published, so they hold no host name, user name, path or serial number.
"""

import hashlib
import platform
import re
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import psutil  # type: ignore[import-untyped]

from workflows.machine import energy, fingerprint, gpu
from workflows.machine.fingerprint import printed, read
from workflows.machine.tuning import variables

NOT_READABLE = "not readable"
CPU = "sys/devices/system/cpu"
FLAGS = re.compile(r"avx|avx2|avx512f|avx512_bf16|avx512_fp16|amx\w*|fma|asimd|sve2?|bf16|neon")
GIB = 2**30


def system_info() -> dict[str, Any]:
    """A nested description of the machine at this moment, ready for JSON.

    `summary` is one line for people. What cannot be read is None, "" or "not readable".
    """
    parts = {
        "cpu": cpu(),
        "memory": memory(),
        "gpus": [asdict(found) for found in gpu.gpus()],
        "virtualisation": virtualisation(),
        "system": system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "variables": variables(),
        "load_average": [round(load, 2) for load in psutil.getloadavg()],
        "energy": energy.described(),
    }
    parts["cuda_driver"] = gpu.cuda_driver() if parts["gpus"] else ""
    return {"summary": summary(parts), **parts}


def summary(parts: dict[str, Any]) -> str:
    """One line: processor, memory, what it runs on, GPUs."""
    cores = len(parts["cpu"]["available"])
    virtual, gpus = parts["virtualisation"], [each["name"] for each in parts["gpus"]]
    where = [f"{virtual['machine']} virtual machine"] if virtual["machine"] else []
    where += [f"{virtual['container']} container"] if virtual["container"] else []
    kernel = re.match(r"\d+(\.\d+)?", platform.release())
    counted = [f"{gpus.count(name)} x {name}" for name in dict.fromkeys(gpus)]
    return ", ".join(
        (
            f"{parts['cpu']['model']} ({cores} core{'' if cores == 1 else 's'})",
            f"{fingerprint.memory_as_sold(psutil.virtual_memory().total)} GiB",
            *where,
            f"{platform.system()} {kernel[0] if kernel else platform.release()}",
            *(counted or ["no GPU"]),
        )
    )


def cpu() -> dict[str, Any]:
    """The processor: cores, frequencies in MHz, caches in KiB (one instance), settings."""
    first = fingerprint.processor() or processor_elsewhere()
    flags = first.get("flags", first.get("Features", "")).split()
    governors = (fingerprint.SYSTEM / CPU).glob("cpu[0-9]*/cpufreq/scaling_governor")
    nodes = fingerprint.SYSTEM / "sys/devices/system/node"
    return {
        "model": fingerprint.cpu_model(),
        "vendor": first.get("vendor_id", first.get("CPU implementer", "")),
        "architecture": platform.machine(),
        "physical": psutil.cpu_count(logical=False),
        "logical": psutil.cpu_count(),
        "available": fingerprint.available_cores(),
        "quota": read("sys/fs/cgroup/cpu.max"),
        "smt": {"1": "on", "0": "off"}.get(read(f"{CPU}/smt/active"), NOT_READABLE),
        "mhz": frequencies(),
        "caches_kib": caches(),
        "flags": sorted(flag for flag in set(flags) if FLAGS.fullmatch(flag)),
        "governor": ", ".join(sorted({read(str(core)) for core in governors})) or NOT_READABLE,
        "turbo": turbo(),
        "numa_nodes": len(list(nodes.glob("node[0-9]*"))),
    }


def processor_elsewhere() -> dict[str, str]:
    """Vendor and flags without /proc/cpuinfo; takes about a second."""
    import cpuinfo

    info = cpuinfo.get_cpu_info()
    return {"vendor_id": info.get("vendor_id_raw", ""), "flags": " ".join(info.get("flags", []))}


def caches() -> dict[str, int]:
    """KiB of each cache that the first core sees. (py-cpuinfo takes its L2 for an L3.)"""
    sizes = {}
    for path in sorted((fingerprint.SYSTEM / CPU / "cpu0/cache").glob("index*")):
        kind = {"Data": "d", "Instruction": "i"}.get(read(f"{path}/type"), "")
        sizes[f"L{read(f'{path}/level')}{kind}"] = read(f"{path}/size").removesuffix("K")
    for level in () if sizes else ("l1d", "l2", "l3"):
        sizes[level.capitalize()] = in_bytes = printed("sysctl", "-n", f"hw.{level}cachesize")
        if in_bytes.isdigit():
            sizes[level.capitalize()] = str(int(in_bytes) // 1024)
    return {level: int(size) for level, size in sizes.items() if size.isdigit()}


def frequencies() -> dict[str, float | None]:
    """Base, highest and present frequency in MHz, None if unknown."""
    base_khz = read(f"{CPU}/cpu0/cpufreq/base_frequency")
    nominal = read(f"{CPU}/cpu0/acpi_cppc/nominal_freq")
    known = {"base": float(base_khz) / 1000 if base_khz else float(nominal or 0)}
    with suppress(OSError, NotImplementedError, RuntimeError, AttributeError):
        now = psutil.cpu_freq()
        known |= {"max": now.max, "now": round(now.current, 1)}
    return {key: known.get(key) or None for key in ("base", "max", "now")}


def turbo() -> str:
    """Whether cores may exceed their base frequency."""
    for name, on in ((f"{CPU}/intel_pstate/no_turbo", "0"), (f"{CPU}/cpufreq/boost", "1")):
        if value := read(name):
            return "on" if value == on else "off"
    return NOT_READABLE


def memory() -> dict[str, Any]:
    """Memory in GiB and two settings of the kernel.

    `transparent_huge_pages` says whether processes get huge pages unasked. `pages_kept_by_core`
    limits the free pages that each core keeps, as a fraction of memory (0: the kernel decides).
    """
    now, limit = psutil.virtual_memory(), read("sys/fs/cgroup/memory.max")
    pages = re.search(r"\[(\w+)\]", read("sys/kernel/mm/transparent_hugepage/enabled"))
    return {
        "total_gib": round(now.total / GIB, 2),
        "available_gib": round(now.available / GIB, 2),
        "limit_gib": round(int(limit) / GIB, 2) if limit.isdigit() else None,
        "swap_gib": round(psutil.swap_memory().total / GIB, 2),
        "transparent_huge_pages": pages[1] if pages else NOT_READABLE,
        "pages_kept_by_core": read("proc/sys/vm/percpu_pagelist_high_fraction") or NOT_READABLE,
    }


def virtualisation() -> dict[str, Any]:
    """Virtual machine and container, as far as they can be detected."""
    hypervisor = "hypervisor" in fingerprint.processor().get("flags", "").split()
    kind = printed("systemd-detect-virt", "--vm").removesuffix("none")
    container = printed("systemd-detect-virt", "--container").removesuffix("none")
    for name, file in (("Docker", ".dockerenv"), ("Podman", "run/.containerenv")):
        container = container or (name if (fingerprint.SYSTEM / file).exists() else "")
    return {
        "hypervisor": hypervisor,
        "machine": {"kvm": "KVM", "": "unknown" if hypervisor else ""}.get(kind, kind),
        "container": container,
        "vendor": read("sys/class/dmi/id/sys_vendor"),
        "product": read("sys/class/dmi/id/product_name"),
    }


def system() -> dict[str, Any]:
    """The operating system, and whether it randomises the memory layout of processes (0, 1, 2).

    `boot` identifies this start of the system, because a virtual machine may run on another host
    after the next start.
    """
    name = f"macOS {platform.mac_ver()[0]}" if platform.mac_ver()[0] else platform.system()
    with suppress(OSError):
        name = platform.freedesktop_os_release().get("PRETTY_NAME", name)
    shuffled = read("proc/sys/kernel/randomize_va_space")
    return {
        "name": name,
        "kernel": f"{platform.system()} {platform.release()}",
        "libc": " ".join(platform.libc_ver()).strip(),
        "address_space_randomisation": int(shuffled) if shuffled.isdigit() else NOT_READABLE,
        "boot": boot(),
    }


def boot() -> str:
    """A name that differs for each start of the system."""
    known = read("proc/sys/kernel/random/boot_id") or printed(
        "sysctl", "-n", "kern.bootsessionuuid"
    )
    return hashlib.sha256(known.encode()).hexdigest()[:8] if known else NOT_READABLE
