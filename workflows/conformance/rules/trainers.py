"""Rules about trainers: their weights, mini-batches, repetition, independence and memory."""

from itertools import product
from math import prod
from statistics import median

import psutil  # type: ignore[import-untyped]

from frameworks.contract import Unavailable
from frameworks.oracle import OracleTrainer
from frameworks.workloads import Workload, initial_weights
from frameworks.workloads.distance import relative
from workflows.conformance.engine import Finding, Rule, broken, holds
from workflows.conformance.subject import Subject
from workflows.conformance.worker import drawn, losses
from workflows.records.thresholds import AGAIN, allowed_again
from workflows.worker.recorded_run import SEED

ANOTHER = 1e-3  # relative, of a loss: another mini-batch, no rounding
SIZE = 1536  # of the network whose memory is watched: two matrices of 9 MB in float32
EARLY, LATER = 3, 6  # trainers: the first ones may still make pools grow, the later ones may not
LOST = 0.5  # of the size of its weights, by each trainer


def weights(subject: Subject) -> Finding:
    numbers = tensors = 0
    for network in subject.trained:
        for precision in subject.precisions:
            seen = subject.ask("weigh", network, precision)
            if seen["wrong"]:
                return broken(
                    f"in {precision}: " + "; ".join(seen["wrong"]),
                    "weights() gives new arrays in canonical layout (dense (in, out), convolution "
                    "(height, width, in, out)) and Conditions.precision; what is given is copied",
                )
            numbers += seen["numbers"]
            tensors += len(network.parameter_shapes)
    return holds(f"{numbers} numbers in {tensors} tensors come back bit for bit, as copies")


def batch(subject: Subject) -> Finding:
    for network, precision in product(subject.trained, subject.precisions):
        seen = subject.ask("overwrite", network, precision)
        if seen["wrote"]:
            return broken(
                f"{seen['wrote']}() writes into the arrays of the caller",
                "work on a copy: the caller goes on using its arrays",
            )
        alone, after = seen["alone"], seen["overwritten"]
        if not abs(after - alone) <= ANOTHER * abs(alone):
            return broken(
                f"loss {after:.6g}, and {alone:.6g} where the arrays are left alone after put()",
                "copy in put(), also where type and layout are right already: the caller "
                "overwrites its arrays with the next mini-batch",
            )
    return holds("the loss does not change when the caller's arrays do")


def repeats(subject: Subject) -> Finding:
    for network in [*subject.trained, *subject.optimised]:
        try:
            seen = subject.ask("repeat", network)
        except Unavailable:  # refused by a step only: the rule of the vocabulary says so
            continue
        allowed = allowed_in_a_study(network, seen["first"])
        for name, again in (("second", "another trainer"), ("restarted", "a restart")):
            text = unlike(seen["first"], seen[name], allowed)
            tensor, error = seen["odd"][name]
            if not error <= allowed[-1]:
                text = text or f"{tensor} is {error:.1e} from the first's after training"
            if text:
                return broken(
                    f"{again} from the same weights, with {network.optimiser.kind}: {text}",
                    "restart() loads the weights and forgets all state of the optimiser"
                    if name == "restarted"
                    else "no random numbers: seed them, or choose deterministic kernels",
                )
    return holds(f"another trainer and a restart give the same losses, to {AGAIN:.0e}")


def interleaving(subject: Subject) -> Finding:
    for network in [*subject.trained, *subject.optimised]:
        try:
            seen = subject.ask("interleave", network)
        except Unavailable:  # as in `repeats`
            continue
        for alone, together in zip(seen["alone"], seen["together"], strict=True):
            if text := unlike(alone, together, [AGAIN] * len(alone)):
                return broken(
                    f"in turns with another trainer: {text}",
                    "keep the network, the optimiser's state and the loss in the trainer, not in "
                    "the module or the class",
                )
    return holds("two trainers in turns have the losses that each has alone")


def allowed_in_a_study(network: Workload, float32: list[float]) -> list[float]:
    """How far off the loss of each step may be after a restart, in a study's certificate."""
    oracle = OracleTrainer(network, initial_weights(network, SEED))
    true = losses(oracle, drawn(network, len(float32)))
    away = [relative(one, other) for one, other in zip(float32, true, strict=True)]
    return [allowed_again(away, step) for step in range(1, len(float32) + 1)]


def unlike(first: list[float], others: list[float], allowed: list[float]) -> str:
    """A description of the first loss that differs, "" if none does; NaN equals NaN. Kernels may
    add in another order."""
    for step, (loss, other, most) in enumerate(zip(first, others, allowed, strict=True), 1):
        if repr(loss) != repr(other) and not relative(other, loss) <= most:
            return f"loss of step {step} is {other!r}, was {loss!r} (allowed {most:.0e}, relative)"
    return ""


def memory(subject: Subject) -> Finding:
    wide = subject.basis.wide(SIZE, 4)
    size = 4 * sum(map(prod, wide.parameter_shapes.values()))
    for _ in range(EARLY):
        subject.ask("drop", wide)
    # Allocators grow in lumps, and give back in lumps what others have lost.
    lost = kept_by(subject, wide)
    if lost > LOST * size:
        lost = median([lost, kept_by(subject, wide), kept_by(subject, wide)])
    seen = f"{lost / 1e6:.1f} MB more for each trainer that is gone, of {size / 1e6:.0f} MB"
    if lost > LOST * size:
        return broken(
            seen,
            "keep no reference to a trainer, its network or its batches in the module, the "
            "adapter or a cache; clear what the framework keeps in a global registry, if it can be "
            "cleared: a study builds few trainers, and measures it all the same",
        )
    return holds(seen)


def kept_by(subject: Subject, network: Workload) -> float:
    """Bytes by which the process is larger after each trainer of this network, on average."""
    before = resident(subject)
    for _ in range(LATER):
        subject.ask("drop", network)
    return (resident(subject) - before) / LATER


def resident(subject: Subject) -> int:
    process = subject.opened("float32", subject.device, subject.threads).process
    return int(psutil.Process(process.pid).memory_info().rss)


AFTER = ("description", "build")
RULES = (
    Rule(
        "weights",
        "Weights come back bit for bit as they were given, by the workload's names, in canonical "
        "shapes, as copies.",
        weights,
        (*AFTER, "precision"),
    ),
    Rule(
        "batch",
        "Once put() and synchronise() have returned, the caller may overwrite its arrays, and the "
        "adapter never writes to them.",
        batch,
        AFTER,
    ),
    Rule(
        "repeats",
        "The same weights and mini-batches give the same losses again, in another trainer and "
        "after restart().",
        repeats,
        AFTER,
    ),
    Rule(
        "interleaving",
        "Two trainers in one process do not disturb each other.",
        interleaving,
        (*AFTER, "repeats"),
    ),
    Rule(
        "memory",
        "A trainer that is gone gives its memory back.",
        memory,
        AFTER,
        isolated=True,
        advice=True,
    ),
)
