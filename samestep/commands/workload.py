"""`workload`: layers, shapes, parameters, work and traffic of a workload, from its description."""

import argparse
import json
from math import prod
from pathlib import Path
from typing import Any

from frameworks.workloads import CATALOGUE, Workload, load, to_dict
from frameworks.workloads.layers import Layer, Shape
from frameworks.workloads.parsing import suggestion
from frameworks.workloads.weights import bounds
from samestep.commands import tables
from samestep.commands.problem import Problem

STUDY = Path(__file__).parents[2] / "config" / "study.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the catalogue or the configuration")
    parser.add_argument(
        "--configfile", type=Path, nargs="+", help="laid over config/study.yaml, as Snakemake does"
    )
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")


def run(arguments: argparse.Namespace) -> int:
    workload = find(arguments.name, arguments.configfile)
    if arguments.json:
        print(json.dumps(described(workload), indent=1))
    else:
        show(workload)
    return 0


def find(name: str, files: list[Path] | None) -> Workload:
    """From the catalogue, or from a study that these files are laid over.

    Raises:
        Problem: there is none of that name, or the configuration cannot be used.
    """
    if not files:
        if name in CATALOGUE:
            return load(name, None)
        known, where = list(CATALOGUE), "in the catalogue"
    else:
        from workflows.planning.configfiles import ConfigurationError, read

        try:
            study = read([STUDY, *files])
        except ConfigurationError as error:
            raise Problem(str(error)) from None
        if name in study.workloads:
            return study.workload(name)
        known, where = list(study.workloads), f"in {', '.join(map(str, files))}"
    hint = suggestion(name, known)
    more = "" if files else "; --configfile reads others"
    raise Problem(f"no workload {name!r} {where}{hint} (there are: {', '.join(known)}{more})")


def described(workload: Workload) -> dict[str, Any]:
    """The description that a configuration may hold, and what follows from it."""
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
            name: {"shape": shape, "drawn_within": bounds(workload)[name]}
            for name, shape in workload.parameter_shapes.items()
        },
        "parameters": workload.parameters,
        "batches": workload.batches,
        "flops_per_step": workload.flops_per_step,
        "bytes_per_step": workload.bytes_per_step(),
    }


def show(workload: Workload) -> None:
    out = tables.console()
    data, optimiser = workload.dataset, to_dict(workload)["optimiser"][workload.optimiser.kind]
    classes = f", {data.classes} classes" if data.classes else ""
    numbers = ", ".join(f"{key} {value:g}" for key, value in optimiser.items())
    facts = {
        "workload": workload.name,
        "data set": f"{data.kind}, {data.samples:,} samples of {by(data.shape)}{classes}",
        "mini-batch": f"{workload.batch}, {workload.batches:,} an epoch",
        "loss": workload.loss,
        "optimiser": f"{workload.optimiser.kind} ({numbers})",
        "parameters": f"{workload.parameters:,}",
        "a step": f"{workload.flops_per_step / 1e9:.3g} GFLOP of matrix work, at least "
        f"{workload.bytes_per_step() / 1e6:.3g} MB of weights' traffic in float32",
    }
    width = max(map(len, facts))
    for key, value in facts.items():
        out.print(f"{key:{width}}  {value}", soft_wrap=True)
    out.print()
    table = tables.table(out, "layer", "is", "output", "parameters", "initial weights")
    within = bounds(workload)
    for stage in workload.stages:
        shapes = stage.layer.parameter_shapes(stage.input_shape)
        drawn = [f"{short} {by(shape)} in ±{within[f'{stage.name}.{short}']:.3g}"
                 for short, shape in shapes.items()]  # fmt: skip
        count = f"{sum(map(prod, shapes.values())):,}" if shapes else ""
        output = by(stage.output_shape)
        table.add_row(stage.name, options(stage.layer), output, count, "; ".join(drawn))
    out.print(table)


def options(layer: Layer) -> str:
    return ", ".join(f"{key} {value}" for key, value in vars(layer).items() if value is not None)


def by(shape: Shape) -> str:
    return " x ".join(map(str, shape))
