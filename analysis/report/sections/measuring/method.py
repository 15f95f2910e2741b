"""The measuring method in eight lines with this study's numbers, and the trained networks. The
long text is docs/method.md."""

from collections import Counter
from collections.abc import Iterable, Sequence

from analysis.data.results import Machine
from analysis.findings.findings import Findings
from analysis.findings.harness import HarnessLine
from analysis.format import count, large, listing, percent, quoted, short
from analysis.report.layout import Blocks, Chapter, Rich, Section, Terms
from analysis.report.prose import more, share, spread, workload
from frameworks.workloads import Stage, Workload, from_dict
from workflows.records.machine_records import WorkloadRecord


def method(findings: Findings) -> list[tuple[str, str]]:
    """Terms with their text, each with a link to the method's page."""
    machine = findings.machine
    lines = [
        ("Same computation", same(machine)),
        ("Contests and turns", " ".join([contests(machine), turns(findings), cores(machine)])),
        (
            "Timed region",
            "The transfer to the device and the step (forward, backward, update), each ended by "
            "the device's own synchronise. Reading the data does not count. "
            + clock(findings.harness),
        ),
        (
            "Steady state",
            "All mini-batches but the warm-up and the first of each turn. A contender whose times "
            f"drift by more than {percent(machine.study.margin)} has no ratio.",
        ),
        (
            "Start cost",
            "Importing, building the network, and what the first mini-batches take beyond the "
            "steady median.",
        ),
        (
            "Estimates and intervals",
            "A ratio is the geometric mean over replicates of the ratio within a contest. Its "
            f"{percent(machine.study.confidence)} interval is Student's, with the replicate as "
            "the unit. It need not be the quotient of the two times.",
        ),
        (
            "Self-test",
            "Some contenders run a second time, unchanged or slowed by a known share, so that the "
            "true ratio is known.",
        ),
        (
            "Interference",
            "The harness reads the kernel's counters before and after each turn. Disturbed turns "
            "are marked and kept.",
        ),
    ]
    return [
        (term, f"{text.strip()} {more(term.lower().replace(' ', '-'))}") for term, text in lines
    ]


def same(machine: Machine) -> str:
    records = machine.records.certificates
    if not records:
        return "No certificate was recorded."
    if machine.untrained:
        return "Before any timing, every contender must give NumPy's results, number by number."
    narrowed = sorted({workload(record.workload) for record in records if record.narrowed})
    text = (
        "Before any timing, every contender must give the reference's losses, weights and "
        f"gradients in float64, to {records[0].tolerance:g}."
    )
    if narrowed:
        full = max(record.full_steps for record in records)
        text += (
            f" {listing(narrowed)} trained a narrower copy of the same layers, and "
            f"{count(full, 'step')} at full size."
        )
    return text


def contests(machine: Machine) -> str:
    """`8 contests of MLP and MNIST CNN took 34 minutes.`"""
    records = machine.records.contests
    if not records:
        return "No contest was held."
    held = Counter(
        group for group, _ in dict.fromkeys((c.group or c.workload, c.replicate) for c in records)
    )
    each = [
        f"{count(number, 'contest')} of {listing(map(workload, group.split('+')))}"
        for group, number in held.items()
    ]
    seconds = sum(record.duration_s for record in records)
    took = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
    fixed = f" {quoted(machine.study.fixed)}" if machine.study.fixed else ""
    return f"{listing(each)} took {took}; each is one replicate, in fresh processes.{fixed}"


def turns(findings: Findings) -> str:
    batches = findings.batches
    if batches.empty:
        return ""
    keys = ["workload", "replicate", "contender", "round"]
    turn = batches[batches["round"] > 0].groupby(keys)["weight"].sum()
    warm = batches[batches["round"] == 0].groupby(keys[:-1])["weight"].sum()
    rounds = batches[batches["round"] > 0].groupby(keys[:-1])["round"].nunique()
    return (
        f"After {span(warm)} mini-batches of warm-up come {span(rounds)} rounds. In each round "
        f"every contender has one turn of {span(turn)} mini-batches while the others sleep, in "
        "random order."
        + " Of long turns, mini-batches of similar times are read as their mean."
        * bool(batches["weight"].max() > 1)
    )


def cores(machine: Machine) -> str:
    pinned: dict[int, set[tuple[int, ...]]] = {}
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.status == "ok" and contender.cores:
                pinned.setdefault(contender.threads, set()).add(tuple(contender.cores))
    if not pinned:
        return "The processes were not pinned to cores."
    parts = [
        f"{count(threads, 'thread')} on "
        + listing(
            ("core " if len(c) == 1 else "cores ") + ", ".join(map(str, c)) for c in sorted(s)
        )
        for threads, s in sorted(pinned.items())
    ]
    return f"Processes were pinned: {'; '.join(parts)}."


def clock(rows: Sequence[HarnessLine]) -> str:
    """What the harness itself costs, measured by a framework that computes nothing."""
    if not rows:
        return ""
    micro = [1000 * ms for row in rows if (ms := row.time.value)]
    shares = [row.share for row in rows if row.share]
    most = f", at most {share(max(shares))} of the fastest contender" if shares else ""
    return f"The clock and the calls cost {spread(min(micro), max(micro))} µs a mini-batch{most}."


def span(values: Iterable[int]) -> str:
    """`6`, or `5 to 6` if the values differ."""
    found = sorted({int(value) for value in values})
    if not found:
        return "no"
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


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
        described.append((workload(record.name), text))
    return described


def layers(record: WorkloadRecord) -> str:
    own = from_dict(record.description)
    chain = " → ".join([shape(own.dataset.shape), *map(layer, own.stages)])
    if own.elementwise:
        return f"{chain}. One step reads and writes {large(record.bytes_per_step, 'B')}."
    return (
        f"{chain}. {optimised(own)} {record.parameters:,} parameters; one step does "
        f"{large(record.flops_per_step, 'FLOP')} and moves at least "
        f"{large(record.bytes_per_step, 'B')} of weights and optimiser state."
    )


def layer(stage: Stage) -> str:
    """`conv2d (filters 32, kernel 3, stride 1, padding valid) 26x26x32`"""
    name = str(stage.layer.kind).replace("_", " ")
    values = [f"{key} {value}" for key, value in stage.layer.options.items()]
    sizes = f" ({', '.join(values)})" if values else ""
    reshaped = len(stage.input_shape) > 1 and stage.output_shape != stage.input_shape
    return name + sizes + (f" {shape(stage.output_shape)}" if reshaped else "")


def shape(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))


def optimised(own: Workload) -> str:
    values = ", ".join(f"{key} {short(value)}" for key, value in vars(own.optimiser).items())
    text = f"Loss: {own.loss}; optimiser: {own.optimiser.kind} ({values})"
    return f"{text.replace('_', ' ')}; batch {own.batch}."


def how_it_was_measured(chapter: Chapter) -> Blocks:
    machine = chapter.findings.machine
    lines = [(term, Rich(text)) for term, text in method(chapter.findings)]
    return [Terms([*lines, *workloads(machine)])]


def inside(chapter: Chapter) -> str:
    machine = chapter.findings.machine
    replicates = max((contest.replicate for contest in machine.records.contests), default=0)
    return f"{count(replicates, 'replicate')}, each in fresh processes that take turns."


SECTION = Section("How it was measured", how_it_was_measured, inside=inside)
