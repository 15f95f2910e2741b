"""The title, and the line about what was compared, when, where and with which versions."""

from collections import Counter
from collections.abc import Mapping

from analysis.data.occasions import day, span
from analysis.data.results import Machine
from analysis.findings.findings import Findings
from analysis.findings.machine import summary, versions, virtual
from analysis.format import count, listing, title
from analysis.report.prose import size, workload
from frameworks.device import HOST

FORMER = "The same training step, timed in every framework"  # of configurations without a title
OWN = {"pytorch": "torch", "tensorflow": "tensorflow", "jax": "jax", "keras": "keras"}


def heading(findings: Findings) -> str:
    machine = findings.machine
    if machine.study.title not in ("", FORMER):
        return machine.study.title
    names = listing(map(title, frameworks(findings)))
    return f"{names}: one training step, timed" if names else FORMER


def frameworks(findings: Findings) -> list[str]:
    """In the order of the report."""
    return list(dict.fromkeys(line.id.framework for line in findings.matrix))


def about(findings: Findings) -> str:
    machine = findings.machine
    parts = [f"Study {machine.study.name}"]
    if machine.records.contests:
        first, last = span(machine)
        dates = dict.fromkeys((day(first), day(last)))
        parts.append(" to ".join(dates))
    parts += [where(machine), packages(findings), sizes(findings)]
    return " · ".join(filter(None, parts))


def where(machine: Machine) -> str:
    used = {one.device for contest in machine.records.contests for one in contest.contenders
            if one.status == "ok"}  # fmt: skip
    system = machine.records.contests[-1].system_info if machine.records.contests else {}
    cpu = system.get("cpu")
    kind = f", {'virtual machine' if 'virtual machine' in virtual(machine) else ''}".rstrip(", ")
    only = "CPU only: " * (used == {HOST.name})
    gpus = "" if used <= {HOST.name} else named(system.get("gpus"))
    if isinstance(cpu, Mapping) and cpu.get("model"):
        model = str(cpu["model"]).replace("(R)", "").replace("(TM)", "")
        cores = f"{count(int(cpu['logical']), 'core')} of an " if cpu.get("logical") else ""
        return f"{only}{cores}{' '.join(model.split())}{gpus}{kind}"
    return f"{only}{summary(machine)}"


def named(gpus: object) -> str:
    """` and NVIDIA H100 80GB HBM3`, as far as the records have names."""
    listed = gpus if isinstance(gpus, list) else []
    each = [one.get("name") for one in listed if isinstance(one, Mapping)]
    counted = Counter(name for name in each if isinstance(name, str))
    words = [name if number == 1 else f"{number} x {name}" for name, number in counted.items()]
    return f" and {listing(words)}" if words else ""


def packages(findings: Findings) -> str:
    """`PyTorch 2.13.0, TensorFlow 2.21.0 with Keras 3.15.1, JAX 0.10.2`"""
    found: dict[str, dict[str, str]] = {}
    for key, version in versions(findings.machine):
        _, framework, package = key.split(".", 2)
        found.setdefault(framework, {})[package] = version.partition("+")[0]
    words = []
    for framework in frameworks(findings):
        own = found.get(framework, {})
        name = OWN.get(framework, framework)
        version = next((own[one] for one in (name, f"{name}-cpu") if one in own), "")
        layers = own.get("keras", "") if framework != "keras" else ""
        keras = f" with Keras {layers}" * bool(layers)
        words.append(f"{title(framework)} {version}".strip() + keras)
    return ", ".join(words)


def sizes(findings: Findings) -> str:
    parameters: dict[str, int] = {}
    for line in findings.certificate:
        known = parameters.get(line.id.workload, 0)
        parameters[line.id.workload] = max(known, line.parameters)
    return ", ".join(
        f"{workload(name)} ({size(parameters[name])} parameters)"
        if parameters.get(name)
        else workload(name)
        for name in findings.machine.workloads
    )
