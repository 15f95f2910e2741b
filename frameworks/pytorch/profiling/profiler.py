"""PyTorch's profiler: how long each operation ran."""

from collections.abc import Callable
from typing import Any

import torch

from frameworks import operations
from frameworks.operations import Event

US = 1e-6


def seconds(run: Callable[[], None]) -> dict[str, float]:
    """Seconds by name. An optimiser's operations have its method's name before their own."""
    threads: dict[int, list[Event]] = {}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
        run()
    for event in found.events():
        span = event.time_range
        threads.setdefault(event.thread, []).append(Event(name(event), span.start, span.end))
    return operations.seconds(threads.values(), US)


def name(event: Any) -> str:
    around = event.cpu_parent
    while around and not around.name.startswith("Optimizer."):
        around = around.cpu_parent
    return f"{around.name} {event.name}" if around else str(event.name)
