"""Made-up records with known ratios and the noise of facts.md: persistent process effects,
interference shared by whoever takes turns, autocorrelated batches, slow first batches of a turn."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workflows.records import schema as r

# Milliseconds of a step on one thread, as measured in facts.md.
MS = {
    ("mlp", "pytorch", "default"): 110.0,
    ("mlp", "pytorch", "tuned"): 50.0,
    ("mlp", "tensorflow", "default"): 77.0,
    ("mlp", "tensorflow", "tuned"): 42.0,
    ("mnist-cnn", "pytorch", "default"): 21.0,
    ("mnist-cnn", "pytorch", "tuned"): 19.0,
    ("mnist-cnn", "tensorflow", "default"): 11.0,
    ("mnist-cnn", "tensorflow", "tuned"): 18.7,
}
SECOND_THREAD = {"mlp": 1.25, "mnist-cnn": 1.5}
NO_GPU = "no GPU was found: nvidia-smi is not installed"
VERSIONS = {
    "pytorch": {"torch": "2.13.0", "numpy": "2.4.6"},
    "tensorflow": {"tensorflow": "2.21.0", "keras": "3.15.1", "numpy": "2.4.6"},
}
ENVIRONMENT = {
    "summary": "AMD EPYC (2 cores), 24 GiB, KVM virtual machine, Linux 6.18, no GPU",
    "cpu": {
        "model": "AMD EPYC",
        "physical": 2,
        "available": [0, 1],
        "mhz": {"base": None, "now": 2596.1},
        "caches_kib": {"L1d": 32, "L2": 1024, "L3": 32768},
        "flags": ["avx", "avx2", "fma"],
        "governor": "not readable",
        "turbo": "not readable",
    },
    "memory": {"total_gib": 23.54, "transparent_huge_pages": "madvise"},
    "gpus": [],
    "virtualisation": {"hypervisor": True, "machine": "KVM", "container": "", "vendor": ""},
    "system": {"name": "Debian GNU/Linux 12 (bookworm)", "kernel": "Linux 6.18.44"},
    "python": {"version": "3.11.7", "implementation": "CPython"},
    "load_average": [0.13, 0.12, 0.08],
    "cuda_driver": "",
}


@dataclass
class Recipe:
    """What to make up. `ms` overrides step times; `absent` maps (workload, replicate,
    contender name) to a reason of failure."""

    machine: str = "amd-epyc-9b14-2c-1a2b3c"
    study: str = "default"
    device: str = "cpu"
    workloads: tuple[str, ...] = ("mlp", "mnist-cnn")
    frameworks: tuple[str, ...] = ("pytorch", "tensorflow")
    variants: tuple[str, ...] = ("default", "tuned")
    threads: tuple[int, ...] = (1, 2)
    replicates: int = 7
    rounds: int = 8
    turn: int = 6
    discarded: int = 2
    warmup: int = 5
    seed: int = 1
    year: int = 2026  # of the contests
    smoke: bool = False
    reference: str = "pytorch"
    fastest: bool = False  # ratios refer to the fastest contender
    together: bool = False  # all workloads in one contest
    float64_turns: bool = False  # the timed turns were also trained in float64
    mnist: str = "mnist"
    process_sd: float = 0.02
    batch_sd: float = 0.03
    ms: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    second_thread: Mapping[str, float] = field(default_factory=lambda: SECOND_THREAD)
    # Times of a step on a GPU over those on the processor; without any, there is no GPU.
    on_gpu: Mapping[str, float] = field(default_factory=dict)
    to_gpu_ms: float = 0.0  # of a mini-batch
    sweeps: Mapping[str, Any] = field(default_factory=dict)  # as configured; `workloads` has all
    absent: Mapping[tuple[str, int, str], str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()  # contender names
    opted: Sequence[tuple[str, str]] = ()  # framework and variant, beside all those above
    timed: Mapping[tuple[str, str], str] = field(default_factory=dict)  # what they declare
    # (framework, variant): label, time over that of `default`, relative difference of the loss
    pitfalls: Mapping[tuple[str, str], tuple[str, float, float]] = field(default_factory=dict)
    # (framework, variant): the change it makes, and the variant that it changes
    changes: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    # (framework, variant), one of `opted`: which part of the step of `default` it is
    parts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # of the reference's `controlled` with fewest threads: said to be slowed by, and true ratio
    controls: Sequence[tuple[float, float]] = ()
    controlled: str = "tuned"
    paused: float = 0.0  # time of one that spins off the clock over that of its contender, if any
    alone: bool = False
    system_info: Mapping[str, Any] = field(default_factory=lambda: ENVIRONMENT)

    @property
    def devices(self) -> tuple[str, ...]:
        return (self.device, "gpu") if self.on_gpu else (self.device,)

    @property
    def contenders(self) -> list[r.Contender]:
        return [
            r.Contender(framework=f, variant=v, device=d, threads=t)
            for f, v, d, t in itertools.product(
                self.frameworks, self.variants, self.devices, self.threads
            )
        ] + [
            r.Contender(framework=f, variant=v, device=self.device, threads=t)
            for (f, v), t in itertools.product([*self.opted, *self.pitfalls], self.threads)
        ]

    @property
    def control_entrants(self) -> dict[str, tuple[r.ContenderRecord, float]]:
        """By name: the control, and its time over that of its contender."""
        made = [
            (
                r.ContenderRecord(
                    framework=self.reference, device=self.device, threads=min(self.threads),
                    variant=f"{self.controlled}+" + (f"{100 * spin:g}%" if spin else "twin"),
                    runs=self.controlled, slowed_by=spin, status="ok",
                ),
                ratio,
            )
            for spin, ratio in self.controls
        ]  # fmt: skip
        if self.paused:
            last = made[-1][0]
            one = {"variant": f"{self.controlled}+paused", "slowed_by": 0.0, "idle": last.slowed_by}
            made.append((last.model_copy(update=one), self.paused))
        return {control.name: (control, ratio) for control, ratio in made}

    def original(self, contender: r.Contender) -> r.Contender:
        """What a control is one of; anybody else is itself."""
        control, _ = self.control_entrants.get(contender.name, (None, 1.0))
        return contender.model_copy(update={"variant": control.runs}) if control else contender

    def pitfall(self, contender: r.Contender) -> tuple[str, float, float]:
        return self.pitfalls.get((contender.framework, contender.variant), ("", 1.0, 0.0))

    def step_ms(self, workload: str, contender: r.Contender) -> float:
        _, slower = self.control_entrants.get(contender.name, (None, 1.0))
        contender = self.original(contender)
        label, times, _ = self.pitfall(contender)
        key = (workload, contender.framework, "default" if label else contender.variant)
        ms = {**MS, **self.ms}.get(key, 30.0) * times * slower
        ms *= self.on_gpu[workload] if self.on_gpu and contender.device == "gpu" else 1.0
        return ms / (self.second_thread[workload] if contender.threads > 1 else 1.0)
