"""A machine's name: the same each time, another for another machine, and a valid folder."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from workflows.machine import fingerprint
from workflows.machine.gpu import Gpu
from workflows.planning.code import ROOT

EPYC = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9B14 96-Core Processor\n"
ARM = "processor\t: 0\nFeatures\t: asimd bf16\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"


@pytest.fixture(autouse=True)
def unnamed(monkeypatch):
    monkeypatch.delenv("SAMESTEP_MACHINE", raising=False)


@pytest.fixture
def made_up(monkeypatch, files, tmp_path):
    """A machine whose files, memory and cores a test can change."""

    def memory(total):
        monkeypatch.setattr(
            fingerprint.psutil, "virtual_memory", lambda: SimpleNamespace(total=int(total))
        )

    def cores(count):
        monkeypatch.setattr(fingerprint, "available_cores", lambda: list(range(count)))

    def commands(answers):
        monkeypatch.setattr(fingerprint, "printed", lambda *c, **_: answers.get(c[0], ""))

    monkeypatch.setattr(fingerprint.platform, "node", lambda: "secret-host")
    files("proc/cpuinfo", EPYC + "\nprocessor\t: 1\nmodel name\t: Another\n")
    files("etc/machine-id", "3d1219c7c4c5404aaa1f6d2a48adfda4\n")
    memory(23.5 * 2**30)
    cores(2)
    commands({})
    return SimpleNamespace(put=files, memory=memory, cores=cores, commands=commands, root=tmp_path)


def gpu(made_up, *names):
    for i, name in enumerate(names):
        made_up.put(f"proc/driver/nvidia/gpus/0000:0{i}:00.0/information", f"Model: \t\t {name}\n")


def test_two_processes_agree():
    command = [
        sys.executable,
        "-c",
        "from workflows.machine.fingerprint import fingerprint as f; print(f())",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "SAMESTEP_MACHINE"}
    names = [
        subprocess.run(
            command,
            cwd=ROOT,
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in "12"
    ]
    assert names == [fingerprint.fingerprint()] * 2


def test_this_machine_has_a_valid_folder_name(tmp_path):
    name = fingerprint.fingerprint()
    assert fingerprint.NAME.fullmatch(name)
    (tmp_path / name).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.quiet
def test_it_is_quick_enough_for_every_parse_of_the_snakefile():
    def took():
        begin = time.perf_counter()
        fingerprint.fingerprint()
        return time.perf_counter() - begin

    assert min(took() for _ in range(3)) < 0.05


def test_the_name_is_readable_and_tells_nothing_personal(made_up):
    name = fingerprint.fingerprint()
    assert name.startswith("amd-epyc-9b14-2c-24gb-")
    assert len(name.rpartition("-")[2]) == 6
    assert "3d1219" not in name and "secret" not in name


def test_memory_that_the_kernel_keeps_does_not_matter(made_up):
    before = fingerprint.fingerprint()
    made_up.memory(23.1 * 2**30)
    assert fingerprint.fingerprint() == before


@pytest.mark.parametrize(
    ("gib", "sold"),
    [(0.96, 1), (7.6, 8), (15.5, 16), (16, 16), (31.2, 32), (188.5, 192), (503, 512)],
)
def test_memory_as_sold(gib, sold):
    assert fingerprint.memory_as_sold(int(gib * 2**30)) == sold


def test_another_machine_has_another_name(made_up):
    names = [fingerprint.fingerprint()]
    made_up.put("etc/machine-id", "another\n")
    names.append(fingerprint.fingerprint())
    made_up.cores(1)
    names.append(fingerprint.fingerprint())
    made_up.memory(47 * 2**30)
    names.append(fingerprint.fingerprint())
    gpu(made_up, "NVIDIA H200")
    names.append(fingerprint.fingerprint())
    made_up.put("proc/cpuinfo", ARM)
    names.append(fingerprint.fingerprint())
    assert len({name.rpartition("-")[2] for name in names}) == len(names)


def test_gpus_are_in_the_name_without_running_anything(made_up, monkeypatch):
    monkeypatch.setattr(fingerprint, "gpus", lambda: pytest.fail("NVML takes too long"))
    gpu(made_up, "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3")
    assert "-24gb-2x-h100-80gb-hbm3-" in fingerprint.fingerprint()


def test_a_gpu_that_the_driver_has_not_started_is_asked_for(made_up, monkeypatch):
    gpu(made_up, "Unknown")
    monkeypatch.setattr(fingerprint, "gpus", lambda: [Gpu("NVIDIA H200", "570.86.15", 143771)])
    assert fingerprint.gpu_names() == ["NVIDIA H200"]


def test_the_host_name_stands_in_for_a_missing_machine_id(made_up, monkeypatch):
    made_up.put("etc/machine-id", "")
    before = fingerprint.fingerprint()
    monkeypatch.setattr(fingerprint.platform, "node", lambda: "other-host")
    assert fingerprint.fingerprint() != before


def test_macos_by_sysctl(made_up, monkeypatch):
    (made_up.root / "proc/cpuinfo").unlink()
    (made_up.root / "etc/machine-id").unlink()
    monkeypatch.setattr(fingerprint.platform, "system", lambda: "Darwin")
    made_up.commands({"sysctl": "Apple M2 Pro", "ioreg": '  "IOPlatformUUID" = "AB-12"\n'})
    assert fingerprint.fingerprint().startswith("apple-m2-pro-2c-24gb-")
    assert fingerprint.identity() == "AB-12"


def test_nothing_readable_still_gives_a_name(made_up, monkeypatch):
    monkeypatch.setattr(fingerprint, "SYSTEM", made_up.root / "nowhere")
    assert fingerprint.NAME.fullmatch(fingerprint.fingerprint())


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("AMD EPYC", "amd-epyc"),
        ("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "intel-xeon-platinum-8481c"),
        ("12th Gen Intel(R) Core(TM) i7-12700K", "intel-core-i7-12700k"),
        ("AMD Ryzen 7 7840U with Radeon 780M Graphics", "amd-ryzen-7-7840u"),
        ("NVIDIA GeForce RTX 4090", "geforce-rtx-4090"),
        ("aarch64 0x41 0xd40", "aarch64-0x41-0xd40"),
        ("///", ""),
    ],
)
def test_slug(model, short):
    assert fingerprint.slug(model) == short


def test_a_chosen_name_wins(monkeypatch):
    monkeypatch.setenv("SAMESTEP_MACHINE", "node_7.gpu-a")
    assert fingerprint.fingerprint() == "node_7.gpu-a"


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "-flag", "two words", "x" * 101, "é"])
def test_a_chosen_name_must_be_a_folder_name(monkeypatch, name):
    monkeypatch.setenv("SAMESTEP_MACHINE", name)
    with pytest.raises(ValueError, match="SAMESTEP_MACHINE"):
        fingerprint.fingerprint()


def test_a_command_that_hangs_counts_as_missing():
    assert fingerprint.printed("sleep", "5", timeout_s=0.1) == ""


def test_available_cores_with_and_without_affinity(monkeypatch):
    cores = fingerprint.available_cores()
    assert cores and cores == sorted(set(cores))
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert fingerprint.available_cores() == [0, 1, 2]


def test_only_the_first_core_is_read(made_up):
    assert fingerprint.processor()["model name"] == "AMD EPYC 9B14 96-Core Processor"
    assert fingerprint.read("nowhere") == ""
