"""`workload`: shows layers, shapes, parameters, work and traffic of a workload."""

import argparse
import json
from math import prod
from pathlib import Path
from typing import Any

from frameworks.workloads import CATALOGUE, Workload, leaves, load, to_dict
from frameworks.workloads.layers import Layer, Shape
from frameworks.workloads.weights import bounds, centre, short
from samestep.terminal import Problem, console, table, unknown

STUDY = Path(__file__).parents[2] / "config" / "study.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="a workload of the catalogue or the configuration"
    )
    parser.add_argument(
        "--configfile", type=Path, nargs="+", help="laid over config/study.yaml, as Snakemake does"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(arguments: argparse.Namespace) -> int:
    workload = find(arguments.name, arguments.configfile)
    if arguments.json:
        print(json.dumps(described(workload), indent=1))
    else:
        show(workload)
    return 0


def find(name: str, files: list[Path] | None) -> Workload:
    """A workload of the catalogue, or of config/study.yaml with these files laid over it.

    Raises Problem if no workload has the name, or the configuration cannot be used.
    """
    if not files:
        if name in CATALOGUE:
            return load(name, None)
        known, where, more = list(CATALOGUE), " in the catalogue", "; --configfile reads others"
    else:
        from workflows.planning.configfiles import ConfigurationError, read

        try:
            study = read([STUDY, *files])
        except ConfigurationError as error:
            raise Problem(str(error)) from None
        if name in study.workloads:
            return study.workload(name)
        known, where, more = list(study.workloads), f" in {', '.join(map(str, files))}", ""
    raise unknown("workload", name, known, where, more)


def described(workload: Workload) -> dict[str, Any]:
    """The description in the form of a configuration, and the numbers that follow from it."""
    return {
        **to_dict(workload),
        "stages": [
            {
                "name": stage.name,
                "input_shape": stage.input_shape,
                "output_shape": stage.output_shape,
            }
            for stage in workload.stages
        ],
        "tensors": {
            name: {
                "shape": shape,
                "drawn_within": bounds(workload)[name],
                "drawn_around": centre(name),
                "trained": name in workload.parameter_shapes,
            }
            for name, shape in workload.tensor_shapes.items()
        },
        "parameters": workload.parameters,
        "batches": workload.batches,
        "multiply_adds": workload.multiply_adds,
        "flops_per_step": workload.flops_per_step,
        "bytes_per_step": workload.bytes_per_step(),
    }


def show(workload: Workload) -> None:
    out = console()
    data, optimiser = workload.dataset, to_dict(workload)["optimiser"][workload.optimiser.kind]
    classes = f", {data.classes} classes" if data.classes else ""
    numbers = ", ".join(f"{key} {value:g}" for key, value in optimiser.items())
    facts = {
        "workload": workload.name,
        "data set": f"{data.kind}, {data.samples:,} samples of {by(data.shape)}{classes}",
        "mini-batch": f"{workload.batch}, {workload.batches:,} an epoch",
        "loss": workload.loss,
        "optimiser": f"{workload.optimiser.kind} ({numbers})",
        "parameters": f"{workload.parameters:,} in {len(workload.parameter_shapes)} tensors",
        "a sample": f"{workload.multiply_adds / 1e6:,.2f} million multiply-adds of matrix work, "
        "forward",
        "a step": f"{large(workload.flops_per_step / 1e9)} GFLOP of matrix work, at least "
        f"{large(workload.bytes_per_step() / 1e6)} MB of weights' traffic in float32",
    }
    if workload.elementwise:
        for key in ("loss", "optimiser", "parameters", "a sample"):
            del facts[key]
        facts["a step"] = f"reads and writes {large(workload.bytes_per_step() / 1e6)} MB"
    width = max(map(len, facts))
    for key, value in facts.items():
        out.print(f"{key:{width}}  {value}", soft_wrap=True)
    out.print()
    rows = table(out, "layer", "is", "output", "parameters", "initial weights")
    within = bounds(workload)
    for stage in leaves(workload.stages):
        shapes = stage.parameter_shapes
        drawn = [f"{short(name)} {by(shape)} in {around(name)}±{within[name]:.3g}"
                 for name, shape in (shapes | stage.state_shapes).items()]  # fmt: skip
        count = f"{sum(map(prod, shapes.values())):,}" if shapes else ""
        output = by(stage.output_shape)
        rows.add_row(stage.name, options(stage.layer), output, count, "; ".join(drawn))
    out.print(rows)


def large(value: float) -> str:
    """Three digits below 100, one decimal below 1,000, else whole numbers."""
    return f"{value:.3g}" if value < 100 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def around(name: str) -> str:
    return f"{centre(name):g} " if centre(name) else ""


def options(layer: Layer) -> str:
    return ", ".join(f"{key} {value}" for key, value in layer.options.items())


def by(shape: Shape) -> str:
    return " x ".join(map(str, shape))
