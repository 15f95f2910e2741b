"""The kinds of device that a contender can run on, and what the harness asks of each.

A further kind is an entry here, and in each adapter the framework's own name for it. Records,
configurations and `Conditions` hold the kind's name. Nothing here imports a framework.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Device:
    """A kind of device.

    `is_host`: it is the processor that runs Python. Its contenders compute in the threads asked
    for, on cores of their own. On any other device, threads only wait for the device.

    `rounds_to_tf32`: it can compute products in TF32.

    `float64`: it can compute in float64. Certificates on any other device are in float32.

    `variables`: environment variables of every worker that uses this kind, set before the
    framework's import.
    """

    name: str
    title: str
    is_host: bool = False
    rounds_to_tf32: bool = False
    float64: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)


HOST = Device("cpu", "CPU", is_host=True, variables={"CUDA_VISIBLE_DEVICES": "-1"})
GPU = Device("gpu", "GPU", rounds_to_tf32=True)

DEVICES = {device.name: device for device in (HOST, GPU)}
