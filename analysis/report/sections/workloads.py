"""The workloads in words: layers, sizes, and the source of their data."""

from analysis.data.results import Machine
from analysis.format import large, short
from frameworks.workloads import Stage, Workload, from_dict
from workflows.records.schema import WorkloadRecord


def workloads(machine: Machine) -> list[tuple[str, str]]:
    """Each workload with its layers, and its data set."""
    sources = {record.workload: record for record in machine.records.datasets}
    described = []
    for record in machine.records.workloads:
        text = layers(record)
        if data := sources.get(record.name):
            text += (
                f" Data: {data.source}; {data.samples:,} samples, {data.batches:,} mini-batches."
            )
        described.append((record.name, text))
    return described


def layers(record: WorkloadRecord) -> str:
    workload = from_dict(record.description)
    chain = " → ".join([shape(workload.dataset.shape), *map(layer, workload.stages)])
    return (
        f"{chain}. {optimised(workload)} {record.parameters:,} parameters; one step does "
        f"{large(record.flops_per_step, 'FLOP')} and moves at least "
        f"{large(record.bytes_per_step, 'B')} of weights and optimiser state."
    )


def layer(stage: Stage) -> str:
    """`conv2d (filters 32, kernel 3, stride 1, padding valid) 26x26x32`"""
    name = str(stage.layer.kind).replace("_", " ")
    values = [f"{key} {value}" for key, value in vars(stage.layer).items() if value is not None]
    sizes = f" ({', '.join(values)})" if values else ""
    reshaped = len(stage.input_shape) > 1 and stage.output_shape != stage.input_shape
    return name + sizes + (f" {shape(stage.output_shape)}" if reshaped else "")


def shape(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))


def optimised(workload: Workload) -> str:
    values = ", ".join(f"{key} {short(value)}" for key, value in vars(workload.optimiser).items())
    text = f"Loss: {workload.loss}; optimiser: {workload.optimiser.kind} ({values})"
    return f"{text.replace('_', ' ')}; batch {workload.batch}."
