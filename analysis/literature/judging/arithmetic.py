"""Claims that a calculation decides, some of them from the times of studies: each function returns
whether the claim holds, and the calculation in a sentence."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import yaml

from analysis.format import count, listing, scientific, three, title, with_ends
from analysis.literature.published.peaks import processors, shares
from analysis.literature.published.table7 import DATA, networks, rows
from analysis.literature.studies import (
    ALIASES,
    EAGER,
    UNLIKE,
    WORKERS,
    MeasuredRatio,
    Pair,
    StudyTables,
    Time,
)
from analysis.report.prose import milliseconds, share, two, workload
from frameworks.workloads import Workload, load


class Calculation(NamedTuple):
    """`holds` is None if it cannot tell, or if a part was not measured."""

    holds: bool | None
    says: str


def stated(quantity: str) -> float:
    """A number that a source prints."""
    (row,) = [row for row in rows("printed.csv") if row["quantity"] == quantity]
    return float(row["value"])


def peak_of_a_card() -> Calculation:
    """Within 5 %: a core adds and multiplies once a cycle."""
    cores, clock, said = (stated(f"GTX 3090 {part}") for part in ("cores", "clock", "peak"))
    found = cores * clock * 2 / 1e3
    return Calculation(
        abs(found / said - 1) <= 0.05,
        f"{cores:,.0f} cores x {clock:g} GHz x 2 operations are {three(found)} TFLOP/s; the same "
        f"sentence says about {said:.0f}",
    )


def vgg_19() -> Workload:
    """As published by Simonyan and Zisserman (2015), table 1, column E."""
    text = (DATA / "vgg-19.yaml").read_text(encoding="utf-8")
    return load("vgg-19", yaml.safe_load(text)["workloads"]["vgg-19"])


def parameters_of_vgg_19() -> Calculation:
    """Within half a million."""
    said, counted = stated("VGG-19 parameters"), vgg_19().parameters
    says = f"VGG-19 has {counted:,} parameters, where the source has {said / 1e6:.0f} million"
    return Calculation(abs(counted - said) <= 0.5e6, says)


def most_of_the_peak(network: str, tool: str, definition: str) -> Calculation:
    """The claim does not hold if a cell needs more than the peak of its processor."""
    most = max(
        (one for one in shares() if (one.cell.network, one.cell.tool) == (network, tool)),
        key=lambda one: one.low,
    )
    where = processors()[most.cell.device]["title"]
    return Calculation(
        not most.impossible,
        f"with {count(most.cell.threads or 0, 'thread')} on the {where} the published time needs "
        f"{two(most.value)} times the peak, if {definition}",
    )


def cuda_in_the_default_wheel() -> Calculation:
    """`data/wheel.csv` has what the wheel of PyTorch that pip installs on Linux requires."""
    found = rows("wheel.csv")
    cuda = [row for row in found if row["requirement"].startswith(("nvidia-", "cuda-"))]
    wheel = f"{found[0]['package']} {found[0]['version']}"
    packages = count(len(cuda), "CUDA package")
    return Calculation(not cuda, f"the Linux wheel of {wheel} makes pip download {packages}")


CALCULATIONS: dict[str, Callable[[], Calculation]] = {
    "peak of a card": peak_of_a_card,
    "parameters of VGG-19": parameters_of_vgg_19,
    "peak of CNTK's LSTM": partial(
        most_of_the_peak, "LSTM", "CNTK", "a mini-batch is 128 sequences of 32 words"
    ),
    "peak of Caffe's AlexNet-S": partial(
        most_of_the_peak, "AlexNet-S", "Caffe", "the network is the one that it is named after"
    ),
    "CUDA in the default wheel": cuda_in_the_default_wheel,
}

LIMIT = 0.05


def fixed_cost(studies: Sequence[StudyTables], small: str) -> Calculation | None:
    """Whether the fixed cost of a step is below 5 % of the step of every network.

    A step of the smallest workload costs at least as much, so it is an upper bound, which cannot
    show that the claim does not hold. `small` names the study of small workloads. Only the
    tutorials' variants with a certificate count. None if a network, or a small workload under the
    same conditions, was not measured.
    """
    every = [(study.name, own) for study in studies for own in certified(study)]
    names = {name.lower() for name in networks()}
    large = [own for _, own in every if own.id.workload in names]
    tiny = [own for study, own in every if study == small]
    found = [(bound.high / own.low, bound, own) for own in large if (bound := least(tiny, own))]
    if {own.id.workload for _, _, own in found} != names or len(found) < len(large):
        return None
    worst, bound, own = max(found, key=lambda one: one[0])
    return Calculation(
        True if worst < LIMIT else None,
        f"the smallest step of {title(own.id.framework)} with {count(own.id.threads, 'thread')} "
        f"takes {milliseconds(bound.median)}, which is at most {share(worst)} of its step on "
        f"{workload(own.id.workload)}; no share is larger",
    )


def certified(study: StudyTables) -> list[Time]:
    """The times of contenders in pairs of frameworks whose certificates allow a ratio."""
    proven = {
        row.id._replace(framework=side)
        for row in study.ratios
        if row.usable and row.pair.axis == "framework" and row.id.variant == "default"
        for side in (row.pair.one, row.pair.over)
    }
    return [own for own in study.times if own.id in proven]


def least(times: Sequence[Time], one: Time) -> Time | None:
    """The shortest step under the conditions of a contender."""
    alike = [own for own in times if own.id[1:] == one.id[1:]]
    return min(alike, key=lambda own: own.median, default=None)


def aliases(studies: Sequence[StudyTables], name: str) -> Calculation | None:
    """Whether writing to what `to` returns changes the original on the same device, and on another
    device does not. None if no study has asked."""
    found: dict[tuple[str, str], str] = {}
    for study in studies:
        found |= study.aliases if study.name == name else {}
    if not found:
        return None
    said = [
        f"writing to what {title(framework)}'s to() returns leaves the original {value} "
        f"({setting.removeprefix('to_').replace('_', ' ')})"
        for (framework, setting), value in found.items()
    ]
    holds = all(value == ALIASES[setting] for (_, setting), value in found.items())
    if holds and {*ALIASES} != {setting for _, setting in found}:
        return Calculation(None, "; ".join([*said, "another device was not there"]))
    return Calculation(holds, "; ".join(said))


ALIKE = 1e-12
SPLIT, NORMALISED = ("fcn-s", "alexnet-s", "fcn-r", "lstm"), ("resnet-50", "resnet-56")


def gradients_of_shards(studies: Sequence[StudyTables], name: str) -> Calculation | None:
    """Whether PyTorch's gradients of two halves, averaged, are those of the whole, and of four
    quarters, if certificates tried them. The certificate of two workers must agree on every network
    without batch normalisation, and must not agree on those with it. None if either kind was not
    tried."""
    rows = {
        row.id.workload: (row, study.quarters.get(row.id))
        for study in studies
        for row in study.of(WORKERS)
        if row.id.framework == "pytorch" and (row.certificate or REFUSED in row.reason)
    }
    off = {
        own: [distance(row.certificate), *([] if quarters is None else [quarters])]
        for own, (row, quarters) in rows.items()
    }
    split, normalised = ([own for own in kind if own in rows] for kind in (SPLIT, NORMALISED))
    if not split or not normalised:
        return None
    alike = max(max(off[own]) for own in split) <= ALIKE < min(min(off[own]) for own in normalised)
    said = []
    for own in (*split, *normalised):
        row, quarters = rows[own]
        why, _, _ = row.reason.partition(REFUSED)[2].partition("; ")  # the certificate's alone
        said.append(f"{workload(own)}: {row.certificate or why}")
        said += [] if quarters is None else [f"four quarters to {scientific(quarters)}"]
    absent = listing([workload(own) for own in SPLIT if own not in rows])
    said += [f"not measured: {absent}"] if absent else []
    return Calculation(None if alike and absent else alike, f"two halves; {'; '.join(said)}")


REFUSED, AGREES = "two-workers/cpu/2 refused: ", "agrees to "


def distance(certificate: str) -> float:
    """The largest distance in a certificate; infinite if it does not say that both agree."""
    agrees = certificate.startswith(AGREES)
    return float(certificate.removeprefix(AGREES)) if agrees else math.inf


WIDTHS = Pair("workload", "mlp-width-4096", "mlp-width-16")


def constant_time(studies: Sequence[StudyTables], _: str) -> Calculation | None:
    """The claim does not hold if a step with its gradients takes longer in a wider network. None if
    it does not in any framework, or if no study has both widths: the other parts of the claim then
    decide."""
    grows = [row for study in studies for row in of_widths(study) if row.known.low > 1]
    said = listing(f"{with_ends(*row.estimate.ends)} in {title(row.id.framework)}" for row in grows)
    if not grows:
        return None
    return Calculation(
        False,
        f"a perceptron's step with its gradients takes {said} times as long at a width of 4,096 as "
        "at one of 16",
    )


def of_widths(study: StudyTables) -> list[MeasuredRatio]:
    """One row for each framework, with its fewest threads."""
    rows = [row for row in study.of(WIDTHS) if row.usable and row.id.variant == "default"]
    rows.sort(key=lambda row: -row.id.threads)
    return list({row.id.framework: row for row in rows}.values())


GRAPH = "tf.function"


def graphs(studies: Sequence[StudyTables], name: str) -> Calculation | None:
    """Whether TensorFlow's step runs as a traced graph in its tutorial, and gives the same losses
    without one. None if either was not measured."""
    modes = {mode for study in studies for mode in study.compilation.get("tensorflow", ())}
    eager = [
        row
        for study in studies
        if study.name == name
        for row in study.of(EAGER)
        if row.id.framework == "tensorflow" and row.estimate.ratio
    ]
    if not modes or not eager:
        return None
    same = not any(UNLIKE in row.reason for row in eager)
    slowest = max(row.estimate.ratio or 0.0 for row in eager)
    losses = "the same" if same else "others"
    return Calculation(
        modes == {GRAPH} and same,
        f"TensorFlow's step is {listing(sorted(modes))} in its tutorial; without a graph its "
        f"losses are {losses} and it takes up to {two(slowest)} times as long. So a graph is its "
        "default, not its only way",
    )


SLACK = 0.03  # of memory, whose allocators round


def memory(studies: Sequence[StudyTables], name: str) -> Calculation | None:
    """Whether PyTorch's process takes less memory than TensorFlow's to train each network, as in
    their tutorials, beyond what each has before that. None if a network was not measured. The
    process also holds the other networks of its contest."""
    found = {
        own.id.workload: study.memory[own.id] / study.memory[other]
        for study in studies
        if study.name == name
        for own in certified(study)
        if own.id.framework == "pytorch" and own.id in study.memory
        if (other := own.id._replace(framework="tensorflow")) in study.memory
    }
    if not {*map(str.lower, networks())} <= {*found}:
        return None
    less, most = (choose(found, key=lambda one: found[one]) for choose in (min, max))
    fall, hold = found[most] > 1 + SLACK, found[most] < 1 - SLACK
    return Calculation(
        hold if hold or fall else None,
        f"PyTorch over TensorFlow: {two(found[less])} on {workload(less)} to {two(found[most])} on "
        f"{workload(most)}; medians without intervals; each process also held the other networks "
        "of its contest",
    )


UNREAD_SAME = frozenset({"the same"})


def unread(studies: Sequence[StudyTables], name: str) -> Calculation | None:
    """Whether steps end with the same loss and weights, to the last bit, if nobody waits for them
    before the last one. None if no study has asked."""
    found = {
        framework: own
        for study in studies
        if study.name == name
        for framework, own in study.unread.items()
    }
    if not found:
        return None
    same = [title(framework) for framework, own in found.items() if own == UNREAD_SAME]
    others = [title(framework) for framework, own in found.items() if own != UNREAD_SAME]
    said = [
        f"whether each of a hundred steps is waited for or the last one only, loss and weights are "
        f"{text} in {listing(names)}"
        for names, text in ((same, "the same to the last bit"), (others, "not the same"))
        if names
    ]
    return Calculation(not others, "; ".join(said))


MEASURED: dict[str, Callable[[Sequence[StudyTables], str], Calculation | None]] = {
    "fixed cost of a step": fixed_cost,
    "aliases": aliases,
    "constant time": constant_time,
    "gradients of shards": gradients_of_shards,
    "graphs": graphs,
    "losses that nobody reads": unread,
    "memory": memory,
}
