"""Rules about the conditions asked for: device, threads, precision, variant."""

from typing import Any

from frameworks.contract import Unavailable
from frameworks.device import DEVICES, GPU, HOST
from frameworks.workloads import load
from workflows.conformance.engine import Finding, Rule, advised, broken, does_not_apply, holds
from workflows.conformance.subject import Subject
from workflows.machine.gpu import computing, gpus
from workflows.worker.process import WorkerDied
from workflows.worker.written_down import NOTHING, written_down

NO_SUCH = "no-such-variant"


def build(subject: Subject) -> Finding:
    try:
        basis = subject.basis
    except Unavailable as reason:
        asked = [load(name, entry) for name, entry in (subject.asked or {}).items()]
        if any(subject.builds(network) for network in asked if not network.elementwise):
            return does_not_apply(f"{reason}; only certificates of what was asked for are tried")
        if kinds := subject.operations:
            return does_not_apply(f"it has single operations only: {', '.join(kinds)}")
        return broken(str(reason), "build at least dense layers, with a loss and an optimiser")
    return holds(f"dense layers with {basis.loss} and {basis.optimiser}")


def variant(subject: Subject) -> Finding:
    if "default" not in subject.description.variants:
        return broken(
            "there is no variant 'default'",
            "name the variant of the framework's own tutorial so: it is compared with the others'",
        )
    raised = subject.ask("unknown", subject.basis.dense(), variant=NO_SUCH)["raised"]
    mend = "raise a KeyError with the variant's name in Adapter.trainer where it is unknown"
    if not raised:
        return broken(f"trainer(..., {NO_SUCH!r}) builds a network all the same", mend)
    if NO_SUCH not in raised:
        return broken(f"trainer(..., {NO_SUCH!r}) raises {raised}, which does not name it", mend)
    return holds(raised)


def precision(subject: Subject) -> Finding:
    """The adapter computes in float64 if that is declared, and refuses float64 if it is not."""
    dense, declared = subject.basis.dense(), subject.finest == "float64"
    try:
        seen = subject.ask("precise", dense, "float64")
    except Unavailable as reason:
        if not declared:
            return holds(f"float32 only, as declared ({reason})")
        return broken(
            f"float64 is declared, and refused: {reason}",
            'write precisions=("float32",) into the Framework, if it has no float64',
        )
    types, float64 = seen["types"], seen["types"] == ["float64"] and seen["finer"]
    said = (
        f"weights in {', '.join(types)}, trained {'finer than' if seen['finer'] else 'to'} float32"
    )
    if declared and not float64:
        return broken(
            f"asked for float64: {said}",
            "compute in Conditions.precision throughout (inputs, weights, optimiser state); or "
            'write precisions=("float32",) into the Framework and raise Unavailable for float64',
        )
    if not declared and not float64:
        return broken(
            f"asked for float64, which is not declared: {said}",
            "raise Unavailable in Adapter.__init__ for a precision that is not supported",
        )
    single = subject.ask("precise", dense, "float32")
    if single["types"] != ["float32"] or single["finer"]:
        return broken(f"asked for float32: weights in {', '.join(single['types'])}",
                      "compute in Conditions.precision throughout")  # fmt: skip
    return holds(f"asked for float64: {said}")


def device(subject: Subject) -> Finding:
    """The device asked for is used, and a GPU that is not there is not replaced by a processor."""
    says = subject.ask("answer", subject.basis.dense())["device"]
    pid = subject.opened("float32", subject.device, subject.threads).process.pid
    on_host, title = DEVICES[subject.device].is_host, DEVICES[subject.device].title
    on_gpu = on_host and pid in computing()
    seen = f"asked for {subject.device}: settings say {says or 'nothing'}"
    if on_gpu or (on_host and not names_host(says)):
        return broken(
            f"{seen}{', and it holds memory of a GPU' * on_gpu}",
            "put the network and its batches on Conditions.device; hide the GPUs for a cpu",
        )
    if not on_host and names_host(says):
        return broken(
            f"{seen}, and no {title}",
            f"use the {title}, and give its name as settings()['device']; or raise Unavailable",
        )
    if on_host and GPU.name in subject.description.devices and not gpus():
        return absent(subject, seen)
    return holds(seen)


def absent(subject: Subject, seen: str) -> Finding:
    """What the adapter does if asked for a GPU on a machine that has none, which no study here
    asks for."""
    mend = "raise Unavailable in Adapter.__init__, with the reason, where there is no GPU"
    mine, subject.device = subject.device, GPU.name
    try:
        says = subject.ask("answer", subject.basis.dense())["device"]
    except Unavailable as reason:
        if str(reason):
            return holds(f"{seen}; asked for a GPU, which is not here: {reason}")
        return advised("without a GPU, Unavailable is raised without a reason", mend)
    except WorkerDied as death:
        return advised(f"asked for a GPU, which is not here, it fails: {death.reason}", mend)
    finally:
        subject.end(GPU.name, subject.threads)
        subject.device = mine
    if names_host(says):
        return advised("asked for a GPU, which is not here, it silently uses the processor", mend)
    return holds(f"{seen}; asked for a GPU, it says {says}, which is none that NVML knows")


def names_host(says: Any) -> bool:
    """Whether settings name the processor as the device, or no device."""
    return str(says or HOST.name).lower() == HOST.name


def settings(subject: Subject) -> Finding:
    mend = "answer everything in SETTINGS (frameworks/contract.py), and change nothing by it"
    for asked in subject.precisions:
        try:
            seen = subject.ask("answer", subject.basis.dense(), asked)
        except WorkerDied as death:
            return broken(death.located, mend)
        kinds: dict[str, str] = seen["kinds"]
        if odd := [f"{n} is a {kind}" for n, kind in kinds.items()
                   if kind not in ("str", "int", "float", "bool")]:  # fmt: skip
            return broken(f"{', '.join(odd)}", "give plain strings and numbers")
        if not seen["same"]:
            return broken("the losses are others once settings() has been asked for", mend)
        if seen["precision"] != asked:
            # Studies read settings in the precision that is timed.
            judged = broken if asked == "float32" else advised
            return judged(
                f"asked for {asked}, settings()['precision'] is {seen['precision']!r}",
                "read it off the weights: a setting that is written down says nothing",
            )
    return holds(f"{len(kinds)} settings")


def read_back(subject: Subject) -> Finding:
    """An adapter need not name as stated what the framework does not have."""
    seen = subject.ask("answer", subject.basis.dense())
    found = written_down(subject.description, seen["values"])
    wrong = [
        f"{name} is {one.value!r} at {one.place}"
        for name, one in found.items()
        if name not in seen["stated"] and one.value != NOTHING
    ]
    if wrong:
        return broken(
            f"written down: {'; '.join(wrong)}",
            'read it off what runs, or answer "n/a" if the framework does not have the setting; '
            'what cannot be read is named in settings()["stated"]. The report marks it either way',
        )
    return holds(f"stated: {', '.join(seen['stated']) or 'none'}")


AFTER = ("description", "build")
RULES = (
    Rule(
        "build",
        "The adapter builds a small network of dense layers, with some loss and some optimiser, or "
        "has single operations only.",
        build,
        after=("description",),
    ),
    Rule(
        "precision",
        "Asked for float64 the adapter computes in it, unless the framework is declared without.",
        precision,
        AFTER,
    ),
    Rule(
        "variant",
        "There is a variant 'default', and an unknown variant raises an error that names it.",
        variant,
        AFTER,
        advice=True,
    ),
    Rule(
        "device",
        "The device asked for is the one used; a GPU that is not there is Unavailable, with a "
        "reason.",
        device,
        (*AFTER, "settings"),
        isolated=True,
    ),
    Rule(
        "settings",
        "settings() answers everything in SETTINGS with plain values in effect, and leaves "
        "training alone.",
        settings,
        (*AFTER, "precision"),
    ),
    Rule(
        "read back",
        "Settings are read off what runs. Those that stand in the source are named as `stated`.",
        read_back,
        (*AFTER, "settings"),
        advice=True,
    ),
)
