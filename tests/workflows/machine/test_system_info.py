"""The system info of a contest: complete, ready for JSON, and with nothing personal in it."""

import json
import platform
import re
import socket
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from workflows.machine import fingerprint, gpu, system_info


@pytest.fixture
def files(files, monkeypatch):
    """Nor does a command of the system answer."""
    monkeypatch.setattr(system_info, "printed", lambda *_, **__: "")
    return files


def leaves(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


@pytest.mark.quiet
def test_it_survives_json_and_is_quick():
    begin = time.perf_counter()
    found = system_info.system_info()
    assert time.perf_counter() - begin < 1.5
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["cpu"]["available"] == fingerprint.available_cores()
    assert found["memory"]["total_gib"] >= found["memory"]["available_gib"] > 0


def test_nothing_personal(monkeypatch):
    host, user = "host-of-jane", "jane-doe"
    monkeypatch.setattr(platform, "node", lambda: host)
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    monkeypatch.setenv("USER", user)
    monkeypatch.setenv("HOME", f"/home/{user}")
    text = json.dumps(system_info.system_info())
    assert host not in text and user not in text
    assert str(Path.cwd()) not in text and sys.prefix not in text
    identity = fingerprint.read("etc/machine-id")
    assert not identity or identity not in text


def test_no_leaf_is_the_real_host_name():
    words = {word for leaf in leaves(system_info.system_info()) for word in str(leaf).split()}
    assert socket.gethostname() not in words


def test_the_summary_is_one_line(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=int(23.5 * 2**30)))
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "release", lambda: "6.18.44-custom")
    parts = {
        "cpu": {"model": "AMD EPYC", "available": [0, 1]},
        "virtualisation": {"machine": "KVM", "container": ""},
        "gpus": [],
    }
    line = "AMD EPYC (2 cores), 24 GiB, KVM virtual machine, Linux 6.18, no GPU"
    assert system_info.summary(parts) == line
    parts["gpus"] = [{"name": "NVIDIA H200"}, {"name": "NVIDIA H200"}]
    parts["virtualisation"] = {"machine": "", "container": "docker"}
    line = "AMD EPYC (2 cores), 24 GiB, docker container, Linux 6.18, 2 x NVIDIA H200"
    assert system_info.summary(parts) == line


def test_processor_settings(files):
    files("proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu avx2 amx_tile hypervisor fma avx2")
    cpu0 = "sys/devices/system/cpu/cpu0"
    for index, (level, kind, size) in enumerate(
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K")]
    ):
        for name, text in (("level", level), ("type", kind), ("size", size)):
            files(f"{cpu0}/cache/index{index}/{name}", text)
    files(f"{cpu0}/cpufreq/scaling_governor", "performance")
    files(f"{cpu0}/cpufreq/base_frequency", "2700000")
    files("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave")
    files("sys/devices/system/cpu/intel_pstate/no_turbo", "1")
    files("sys/devices/system/cpu/smt/active", "1")
    files("sys/devices/system/node/node0/x", "")
    found = system_info.cpu()
    assert found["vendor"] == "GenuineIntel"
    assert found["flags"] == ["amx_tile", "avx2", "fma"]
    assert found["caches_kib"] == {"L1d": 48, "L1i": 32, "L2": 2048}
    assert found["governor"] == "performance, powersave"
    assert (found["turbo"], found["smt"]) == ("off", "on")
    assert found["mhz"]["base"] == 2700
    assert found["numa_nodes"] == 1


@pytest.mark.parametrize(
    ("name", "value", "turbo"),
    [
        ("intel_pstate/no_turbo", "0", "on"),
        ("cpufreq/boost", "1", "on"),
        ("cpufreq/boost", "0", "off"),
    ],
)
def test_turbo(files, name, value, turbo):
    files(f"sys/devices/system/cpu/{name}", value)
    assert system_info.turbo() == turbo


def test_each_start_of_the_system_has_a_name_of_its_own(files):
    found = []
    for boot in ("before", "before", "after"):
        files("proc/sys/kernel/random/boot_id", boot)
        found.append(system_info.boot())
    assert found[0] == found[1] != found[2] != system_info.read("proc/sys/kernel/random/boot_id")


def test_a_system_without_these_files(files, monkeypatch):
    def refuse():
        raise NotImplementedError

    monkeypatch.setattr(psutil, "cpu_freq", refuse)
    monkeypatch.setattr(system_info, "processor_elsewhere", lambda: {"vendor_id": "Apple"})
    answers = {"hw.l1dcachesize": "65536", "hw.l2cachesize": "4194304"}
    monkeypatch.setattr(system_info, "printed", lambda *c, **_: answers.get(c[-1], ""))
    found = system_info.system_info()
    assert found["cpu"]["vendor"] == "Apple"
    assert found["cpu"]["caches_kib"] == {"L1d": 64, "L2": 4096}
    assert found["cpu"]["governor"] == found["cpu"]["turbo"] == "not readable"
    assert found["cpu"]["mhz"] == {"base": None, "max": None, "now": None}
    assert found["memory"]["transparent_huge_pages"] == "not readable"
    assert found["memory"]["pages_kept_by_core"] == "not readable"
    assert found["system"]["address_space_randomisation"] == "not readable"
    assert found["virtualisation"]["machine"] == ""
    assert found["system"]["boot"] == "not readable"
    json.dumps(found)


def test_py_cpuinfo_answers_where_there_is_no_such_file(monkeypatch):
    cpuinfo = pytest.importorskip("cpuinfo")
    info = {"vendor_id_raw": "Apple", "flags": ["neon"]}
    monkeypatch.setattr(cpuinfo, "get_cpu_info", lambda: info)
    assert system_info.processor_elsewhere() == {"vendor_id": "Apple", "flags": "neon"}


def test_memory_settings(files):
    files("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    files("proc/sys/vm/percpu_pagelist_high_fraction", "1000")
    files("sys/fs/cgroup/memory.max", str(4 * 2**30))
    found = system_info.memory()
    assert (found["transparent_huge_pages"], found["limit_gib"]) == ("madvise", 4)
    assert found["pages_kept_by_core"] == "1000"
    files("sys/fs/cgroup/memory.max", "max")
    assert system_info.memory()["limit_gib"] is None


def test_virtualisation_without_systemd(files):
    files("proc/cpuinfo", "flags : fpu hypervisor")
    files("sys/class/dmi/id/sys_vendor", "Amazon EC2")
    files("sys/class/dmi/id/product_serial", "ec2-serial")
    files(".dockerenv", "")
    found = system_info.virtualisation()
    assert found == {
        "hypervisor": True,
        "machine": "unknown",
        "container": "Docker",
        "vendor": "Amazon EC2",
        "product": "",
    }


def test_gpus_bring_driver_and_cuda(monkeypatch):
    card = gpu.Gpu("NVIDIA H200", "570.86.15", 143771, 1980, 1980, "no")
    monkeypatch.setattr(gpu, "gpus", lambda: [card])
    monkeypatch.setattr(gpu, "cuda_driver", lambda: "12.8")
    found = system_info.system_info()
    assert found["gpus"] == [
        {"name": "NVIDIA H200", "driver": "570.86.15", "memory_mib": 143771, "mhz": 1980,
         "max_mhz": 1980, "throttled": "no"}
    ]  # fmt: skip
    assert found["cuda_driver"] == "12.8"
    assert re.search(r"1 x NVIDIA H200$", found["summary"])
