"""TensorFlow's profiler: how long each kernel ran."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import tensorflow as tf

from frameworks import operations
from frameworks.operations import Event

PS = 1e-12
# `adam/Mul_3:Mul`, as the profiler names what runs; `EagerLocalExecute: Mul` without tf.function
KERNEL = re.compile(r"[^:]+:\w+|EagerLocalExecute: (?!__)\w+")


def seconds(run: Callable[[], None]) -> dict[str, float]:
    """Seconds by the name of the kernel."""
    with TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            run()
        (path,) = Path(folder).rglob("*.xplane.pb")
        return operations.seconds(kernels(tf.io.read_file(str(path)).numpy()), PS)


def kernels(trace: bytes) -> Iterator[list[Event]]:
    """The kernels that ran on each thread."""
    # Not above, because every TensorFlow process imports this file.
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    for plane in XSpace.FromString(trace).planes:
        for line in plane.lines:
            ran = []
            for event in line.events:
                name = plane.event_metadata[event.metadata_id].name
                if KERNEL.fullmatch(name):
                    begin = 1000 * line.timestamp_ns + event.offset_ps
                    ran.append(Event(name, begin, begin + event.duration_ps))
            yield ran
