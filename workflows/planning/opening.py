"""Before anything is measured: what can be checked, and what is going to happen."""

import math
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

from frameworks.device import DEVICES
from frameworks.registry import bundled, entry_points, framework, is_pitfall, is_ranked
from frameworks.workloads import Workload, leaves, narrowed
from frameworks.workloads.datasets import DataError, MnistSettings
from frameworks.workloads.datasets.mnist import expected
from workflows.machine.fingerprint import available_cores
from workflows.planning import names, needs
from workflows.planning.configuration import Configuration
from workflows.planning.isolated import isolated
from workflows.planning.plan import (
    PlannedContender,
    contenders,
    contenders_here,
    controls,
    loaded,
    running,
)
from workflows.planning.provenance import installed
from workflows.planning.replicates import AROUND_S, announcement, fewest, fixed
from workflows.planning.todo import UNRANKED, compiling_s
from workflows.progress import WIDTH, about
from workflows.records.folders import Folders
from workflows.records.machine_records import DatasetRecord
from workflows.records.storage import RecordError, read_json

# For the estimate of a study that is given by its replicates; the first contest replaces it. Fitted
# to the stages of four studies on two cores of a Xeon, from tiny networks to those of 2016.
START_S, BUILD_S = 2.5, 0.5  # of a contender in a contest: its import, and on each workload
CERTIFICATE_S, CERTIFICATE_STEP_S = 2.5, 0.012  # of a contender on a workload
CERTIFICATE_LAYER_S, COMPARED = 0.12, 4e6  # of each layer: compilers; parameters a second
IMPORTS_S = 2.0  # of a command that certifies
HOST_FLOPS, DEVICE_FLOPS = 60e9, 2e12  # a second, of a thread and of a GPU
HOST_BYTES = 6e9  # of weights' traffic a second
FLOAT64_FLOPS = 20e9  # a second, of certificates
GRADIENTS = 2  # at full size, in float64 and float32
COMPILED = 2  # times as long a compiler takes in certificates as in a contest


class NotReady(Exception):
    """A study that cannot begin; the message says what is wrong and how to mend it."""


def require_ready(
    study: Configuration, where: Callable[[str], str], cores: int | None = None
) -> None:
    """Check what the configuration refers to, without importing a framework, and what its records
    would hold on this machine, or on one with so many `cores`. `where` gives the file of a line
    that begins with a key.

    Raises:
        NotReady: an interpreter does not start, a required framework is not installed, or nobody
            could read the records.
    """
    for fault in unready(study, cores):
        raise NotReady(in_its_file(fault, where))


def in_its_file(fault: str, where: Callable[[str], str]) -> str:
    """The fault after the file that sets its key, if it begins with a key."""
    key = re.split(r"[.:]", fault, maxsplit=1)[0]
    return f"{where(fault)}: {fault}" if key in Configuration.model_fields else fault


def unready(study: Configuration, cores: int | None) -> Iterator[str]:
    """What `require_ready` refuses. Each line begins with a key."""
    least = fewest(study) if study.minutes else study.replicates or 1
    for one in needs.recorded(study, cores):
        if (size := one.fixed + least * one.each) > one.most:
            yield (
                f"{one.key}: about {size:,.0f} {one.what}, and {one.most:,} at most can be read "
                "back. Ask for fewer replicates, rounds, steps, devices, contenders or workloads."
            )
    planned = list(contenders(study, cores or len(available_cores())))
    if all(one.missing for one in planned):
        yield f"threads: no contender can run here: {planned[0].missing}"
    for name, path in study.interpreters.items():
        if why := no_python(path):
            yield (
                f"interpreters.{name}: {path or repr('')}: {why}. Name a Python that has "
                f"{framework(name).title}{and_adapter(name)}, or remove the key."
            )
    for entry in study.contenders:
        description = framework(entry.framework)
        if entry.required and description.unloadable:
            yield f"contenders: {entry.framework} is required: {description.unloadable}"
        if not entry.required or isolated(study, entry.framework) or not description.distributions:
            continue
        own = study.interpreters.get(entry.framework, sys.executable)
        if not installed(entry.framework, own):
            beside = and_adapter(entry.framework) if own != sys.executable else ""
            yield (
                f"contenders: {description.title} is required and is not installed under "
                f"{own}. Install it ({description.install}){beside}, or remove "
                "`required`."
            )


def no_python(path: str) -> str:
    """Why this program is no Python that starts, "" if it is."""
    try:
        said = subprocess.check_output(
            [path, "-c", "print(6 * 7)"], stderr=subprocess.DEVNULL, timeout=60
        )
    except OSError as error:
        return error.strerror or str(error)
    except (ValueError, subprocess.SubprocessError):
        said = b""
    return "" if said.strip() == b"42" else "it does not run as a Python"


def and_adapter(name: str) -> str:
    """What an interpreter needs beside the framework if its adapter is a package."""
    package = entry_points().get(name) if name not in bundled() else None
    return f", and the package of its adapter ({package.module})" if package else ""


def unloadable(study: Configuration) -> Iterator[str]:
    """Why frameworks of the study cannot be loaded."""
    for name in dict.fromkeys(entry.framework for entry in study.contenders):
        if reason := framework(name).unloadable:
            yield reason


def opening(
    study: Configuration,
    folders: Folders,
    where: Callable[[str], str],
    report: str,
    again: str = "",
    snakemake: bool = True,
) -> list[str]:
    """What will be measured, for how long, on which data, and where the report will be.
    `where`: as for `require_ready`. `snakemake`: whether Snakemake runs the study.

    Raises:
        NotReady: the configured data are not there, or the study does not fit here.
    """
    asked = needs.needs(study, folders)
    for shortage in needs.shortages(study, asked, folders, snakemake):
        raise NotReady(in_its_file(shortage, where))
    own = contenders_here(study)
    workloads = names.listing(map(names.workload, study.workloads))
    frameworks = names.listing(framework(one.framework).title for one in own)
    rows = {
        "contenders": variants(own),
        "on": f"{names.threads({one.threads for one in own})}, {devices(own)}",
        "time": lasting(study, folders),
        "needs": needs.said(asked, folders),
        "warning": needs.doubtful(asked),
        "without": "; ".join(unloadable(study)),
        "data": data(study, folders, where),
        "report": report,
    }
    return [
        f"Study {study.study}: {frameworks} on {workloads}",
        *(line for name, text in rows.items() if text for line in wrapped(name, text)),
        *([f"Ctrl-C stops it; `{again}` goes on from there."] if again else []),
        "",
    ]


def wrapped(name: str, text: str) -> list[str]:
    start = f"  {name:10}  "
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_on_hyphens=False,
    )


def variants(own: Sequence[PlannedContender]) -> str:
    """`PyTorch (default, tuned), JAX (default)`; pitfalls are counted."""
    parts = []
    for name in dict.fromkeys(one.framework for one in own):
        mine = [one for one in own if one.framework == name]
        words = list(dict.fromkeys(one.variant for one in mine if not is_pitfall(one)))
        pitfalls = {one.variant for one in mine if is_pitfall(one)}
        words += [names.counted(len(pitfalls), "pitfall")] * bool(pitfalls)
        parts.append(f"{framework(name).title} ({', '.join(words)})")
    return ", ".join(parts)


def devices(own: Sequence[PlannedContender]) -> str:
    return names.listing(DEVICES[one.device].title for one in own)


def data(study: Configuration, folders: Folders, where: Callable[[str], str]) -> str:
    """Where MNIST comes from; "" if no workload needs it."""
    for name in study.workloads:
        if study.workload(name).dataset.kind != "mnist":
            continue
        try:
            return read_json(folders.dataset(name), DatasetRecord).source
        except RecordError:
            pass
        try:
            return expected(MnistSettings(**study.mnist.model_dump()))
        except DataError as error:
            raise NotReady(in_its_file(str(error), where)) from None
    return ""


def lasting(study: Configuration, folders: Folders) -> str:
    """How long the study takes, and how many replicates it has."""
    said = announcement(folders, study)
    if said and fixed(folders, study):
        return said
    number = fewest(study) if said else study.replicates or 1
    seconds = number * contest_s(study) + certificates_s(study) + AROUND_S
    replicates = names.counted(number, "replicate")
    if not said:
        return f"about {about(seconds)} for {replicates}, roughly estimated"
    if seconds <= 60 * (study.minutes or 0):
        return said
    return f"{said} Even {replicates} may take about {about(seconds)}, roughly estimated."


def contest_s(study: Configuration) -> float:
    """A rough estimate of one contest of each group."""
    deal = study.contest
    steps = deal.warmup + deal.rounds * deal.turn
    own = running(study)
    total = START_S * len(own) * len(study.groups)
    for name in study.workloads:
        workload = study.workload(name)
        total += sum(BUILD_S + steps * step_s(one, workload) for one in own)
        total += sum(compiling_s(name, one.framework, one.variant) for one in own)
    copies = [one for one in (*controls(study, own), *loaded(study, own)) if not one.missing]
    return total + total / max(len(own), 1) * len(copies)


def certificates_s(study: Configuration) -> float:
    """A rough estimate of all certificates."""
    own = running(study)
    work = sum(1.0 if is_ranked(one) else UNRANKED for one in own)
    commands = 1 + len({one.framework for one in own})
    total = 0.0
    for name in study.workloads:
        workload = study.workload(name)
        limits = study.certificate.allowed(workload)
        each_s = CERTIFICATE_STEP_S + narrowed(workload).flops_per_step / FLOAT64_FLOPS
        layers_s = CERTIFICATE_LAYER_S * sum(1 for _ in leaves(workload.stages))
        steps = 0 if workload.elementwise else limits.steps
        total += work * (CERTIFICATE_S + steps * each_s + layers_s) + commands * IMPORTS_S
        whole_s = (limits.full_steps + GRADIENTS) * workload.flops_per_step / FLOAT64_FLOPS
        total += (work + 1) * (whole_s + workload.parameters / COMPARED)
        total += COMPILED * sum(compiling_s(name, one.framework, one.variant) for one in own)
    return total


def step_s(one: PlannedContender, workload: Workload) -> float:
    if not one.on_host:
        return workload.flops_per_step / DEVICE_FLOPS
    flops = HOST_FLOPS * math.sqrt(one.threads)
    return workload.flops_per_step / flops + workload.bytes_per_step() / HOST_BYTES
