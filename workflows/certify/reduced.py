"""Reduced precision: whether a contender computes in a format, and how far that may lead.

The bound follows from the format. A product rounds its two factors and its result, each by at most
u (2^-8 in bfloat16, 2^-11 in TF32), relative. What reaches a gradient has passed all d products of
the network forwards and backwards, so it was rounded 6 d times. Roundings that all point the same
way add up to 6 d u. They point in any direction, so the median gradient and the first loss must be
closer than this sum. As in float32, sums that cancel have about three times as much room, and so
do losses after updates. No room reaches a half: a gradient that is missing, halved or doubled is
refused, however deep the network is.
"""

from collections.abc import Iterable, Mapping

from frameworks.contract import Setting, Unavailable
from frameworks.device import DEVICES
from frameworks.formats import Format
from frameworks.workloads import Stage, Workload, leaves
from frameworks.workloads.sequences import LSTM
from workflows.records.schema import CertificateRow
from workflows.records.thresholds import REDUCED

ROUNDINGS = 6  # of what passes a product forwards and backwards
WIDER = 3
PROBES = {"dense": "dense_products", "conv2d": "convolution_products"}  # by kind of layer


def room(found: Format, workload: Workload) -> tuple[float, float]:
    """How far a contender in this format may be from float64, relative: the median gradient and the
    first loss, then any gradient and any loss."""
    middle = min(ROUNDINGS * depth(workload.stages) * found.roundoff, REDUCED)
    return middle, min(WIDER * middle, REDUCED)


def depth(stages: Iterable[Stage]) -> int:
    """The most products that anything passes one after the other."""
    return sum(max(map(depth, stage.paths), default=products(stage)) for stage in stages)


def products(stage: Stage) -> int:
    """An LSTM multiplies in each step of its sequence."""
    if isinstance(stage.layer, LSTM):
        return stage.input_shape[0]
    return int(stage.multiply_adds > 0)


def reduced(settings: dict[str, Setting], device: str) -> str:
    """The reduced precision that a trainer's settings name for its products, "" for none."""
    flags = [name for name in ("tf32_matmul", "tf32_convolution") if settings.get(name) is True]
    return f"TF32 ({', '.join(flags)})" if flags and DEVICES[device].rounds_to_tf32 else ""


def require_use(found: Format, workload: Workload, answers: Mapping[str, Setting]) -> None:
    """Raise Unavailable unless the probes have seen the format in each kind of product that the
    workload has."""
    kinds = {stage.layer.kind for stage in leaves(workload.stages)}
    for kind, probe in PROBES.items():
        if kind in kinds and answers[probe] != found.name:
            raise Unavailable(
                f"this build does not use {found.title}: {probe.replace('_', ' ')} are in "
                f"{answers[probe]}"
            )


def declare(row: CertificateRow, found: Format | None) -> None:
    """Let a certificate that is not refused declare the format, if any, and how far it leads."""
    if found and row.status in ("agrees", "declared"):
        own = (
            f"precision.{found.name}: as timed, first gradients are up to "
            f"{max(row.rounding.values(), default=0.0):.1e} and losses up to "
            f"{max(row.float32, default=0.0):.1e} from float64"
        )
        row.status, row.reason = "declared", "; ".join(filter(None, [row.reason, own]))
