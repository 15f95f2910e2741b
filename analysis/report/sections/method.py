"""The measuring method, according to the records, and the trained networks."""

from collections import Counter
from collections.abc import Iterable

from analysis.data.results import Machine
from analysis.findings.fairness.certificates import FLOAT64, SINGLE, Certificates, furthest
from analysis.findings.findings import Findings
from analysis.findings.harness import harness_cost
from analysis.format import count, large, listing, percent, scientific, short, title
from analysis.report.layout import Chapter, Parts, Rich, Section, Terms
from analysis.report.sections.controls import control_method
from analysis.report.sections.interference import interference_method
from analysis.stats.estimator import DESCRIPTION
from analysis.stats.inference import of_equivalence
from frameworks.workloads import Stage, Workload, from_dict
from workflows.records.schema import CertificateRecord, WorkloadRecord

Described = list[tuple[str, str]]


def method(findings: Findings) -> Described:
    """Terms with their text, in the order of a contest."""
    machine = findings.machine
    return [
        ("Same computation", f"{certificates(machine)} {findings.loss_check}".rstrip()),
        ("Contests", contests(machine)),
        ("Turns", turns(findings)),
        *[("Weather", text) for text in [interference_method(findings)] if text],
        ("Cores", cores(machine)),
        (
            "Timed region",
            "One clock, in the harness, around each of three parts of a mini-batch, each ended "
            "by the device's own synchronise: data (memory map to host arrays), transfer (host "
            "to device) and step (forward, backward, update). The times compared are transfer "
            "and step; data is the harness's own work, equal for all, and shown apart. "
            + " ".join([transfer(findings), harness_cost(findings.harness)]).rstrip(),
        ),
        ("Steady state", steady_state(findings)),
        (
            "Start",
            "Import is timed in the first process of each framework in a contest, which imports "
            "while no other does, with its files in memory from before, and without Python's and "
            "NumPy's own start. Lost by starting are import, building the network, and what the "
            "first and all other mini-batches of the warm-up took beyond the steady median. "
            "The number of mini-batches after which that has paid off has Fieller's interval over "
            "replicates, which has no upper end where the steps may be equally fast.",
        ),
        ("Estimates", estimates(findings)),
        ("Precision", precision(findings)),
        ("Controls", control_method(findings)),
        ("Seeds", seeds(machine)),
    ]


def certificates(machine: Machine) -> str:
    records = machine.records.certificates
    if not records:
        return "No certificate was recorded, so no pair could be compared."
    found = Certificates(machine).found
    rows = [row for benchmark, (_, row) in found.items() if not machine.pitfall(benchmark)]
    agreeing = [row for row in rows if row.status == "agrees" and row.precision == FLOAT64]
    others = {
        status: sum(row.status == status for row in rows)
        for status in ("declared", "refused", "failed", "missing")
    }
    single = sum(row.status == "agrees" for row in rows) - len(agreeing)
    others = {f"{SINGLE} (no float64: first gradients and the first losses)": single} | others
    rest = ", ".join(f"{number} {status}" for status, number in others.items() if number)
    full = max(record.full_steps for record in records)
    narrowed = sorted({record.workload for record in records if record.narrowed})
    reference = listing(sorted({r.reference for r in records}))
    text = (
        f"Before any timing, each contender trained {span(r.steps for r in records)} steps in "
        "float64 from the same weights on the same mini-batches. The loss of every step, every "
        f"tensor of the weights after steps {listing(kept(records))} and every first gradient must "
        f"agree with {reference} to {records[0].tolerance:g} relative. Certificates: "
        f"{len(agreeing)} agree, the furthest "
        f"to {scientific(max(map(furthest, agreeing), default=0.0))}{rest and ', ' + rest}."
        + " Variants with a trap are not among them."
        * bool(machine.pitfalls)
    )
    if narrowed:
        text += (
            f" {listing(narrowed)} ran the long certificate in a narrower copy of the same layers, "
            f"and {count(full, 'step')} at full size."
        )
    return (
        f"{text} In float32, as timed, first gradients may be {short(records[0].rounding)} from "
        "the reference's in float64 (in the median of three mini-batches, where the first one's "
        "are not), unless a reduced precision explains more, and the losses of "
        f"the first steps {records[0].float32_loss:g} from its own in float64. "
        "The first steps are repeated after a restart, arrays given to put are overwritten when "
        "it has returned, and nothing may be left to do behind the fence. A miniature of the "
        "workload, with other targets, is held against plain NumPy."
    )


def kept(records: list[CertificateRecord]) -> list[int]:
    steps = {s for r in records for row in r.rows if row.long for s in row.long.weights}
    return sorted(steps)


def contests(machine: Machine) -> str:
    records = machine.records.contests
    if not records:
        return "No contest was held."
    held = Counter(
        group for group, _ in dict.fromkeys((c.group or c.workload, c.replicate) for c in records)
    )
    each = [f"{number} of {group.replace('+', ' with ')}" for group, number in held.items()]
    seconds = sum(record.duration_s for record in records)
    took = f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"
    started = sorted(record.started for record in records)
    fixed = machine.study.fixed
    return (
        f"{count(held.total(), 'contest')} ({', '.join(each)}), each with fresh processes that "
        f"lived side by side: one replicate. {f'{fixed} '.lstrip()}They took {took}, the first "
        f"started {moment(started[0])}, the last {moment(started[-1])}."
    )


def moment(started: str) -> str:
    return started[:16].replace("T", " ") + " UTC"


def turns(findings: Findings) -> str:
    batches = findings.batches
    keys = ["workload", "replicate", "contender", "round"]
    turn = batches[batches["round"] > 0].groupby(keys)["warmup"].agg(["size", "sum"])
    warm = batches[batches["round"] == 0].groupby(keys[:-1]).size()
    rounds = batches[batches["round"] > 0].groupby(keys[:-1])["round"].nunique()
    shared = any("+" in contest.group for contest in findings.machine.records.contests)
    return (
        f"After {span(warm)} mini-batches of warm-up, {span(rounds)} rounds. In each round every "
        f"contender ran one turn of {span(turn['size'])} mini-batches while the others slept, in "
        "an order drawn at random, balanced as far as the number of rounds allows. "
        + "The workloads of a contest follow each other, in an order drawn anew each round. "
        * shared
        + "Each turn "
        "starts from the initial weights and each round has mini-batches of its own, the same for "
        f"all. Of a turn the first mini-batches ({span(turn['sum'])}) are kept and marked, but are "
        "not steady state."
    )


def steady_state(findings: Findings) -> str:
    """The one check, and what came of it."""
    known = [line for line in findings.steady if line.drift is not None]
    drifting = sum(not line.steady for line in findings.steady)
    margin = percent(findings.machine.study.margin)
    return (
        "Steady state is what the contests dealt as such: all mini-batches but the warm-up and the "
        "first ones of each turn. One check: the median of the last third of the rounds over that "
        "of the first, by process, beyond the median of the other contenders on the same cores in "
        "the same contest, so that a change of the machine cancels. A contender has no ratio if "
        f"the whole interval of this drift, over replicates, is beyond {margin} on one side. The "
        "intervals are Student's with Bonferroni's correction over all contenders, so that a ratio "
        f"is seldom held back by chance. Of {count(len(known), 'contender')} checked, "
        f"{drifting or 'none'} drifted so far. Nothing else holds a ratio back."
    )


def cores(machine: Machine) -> str:
    pinned: dict[tuple[str, int], set[tuple[int, ...]]] = {}
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.status == "ok" and contender.cores:
                key = (contender.device, contender.threads)
                pinned.setdefault(key, set()).add(tuple(contender.cores))
    if not pinned:
        return "The processes were not pinned to cores."
    parts = [
        f"{count(threads, 'thread')} on "
        + listing(
            ("core " if len(c) == 1 else "cores ") + ", ".join(map(str, c)) for c in sorted(s)
        )
        for (_, threads), s in sorted(pinned.items())
    ]
    return (
        f"Processes were pinned: {'; '.join(dict.fromkeys(parts))}. Contenders with as many "
        "threads share the same cores."
    )


def transfer(findings: Findings) -> str:
    """`Of the time compared, transfer is 0.2 to 1.9 % in PyTorch.`"""
    shares: dict[str, list[float]] = {}
    for row in findings.contenders:
        if row.transfer_ms is not None and row.step_ms is not None:
            share = row.transfer_ms / (row.transfer_ms + row.step_ms)
            shares.setdefault(title(row.id.framework), []).append(share)
    parts = [
        f"{' to '.join(dict.fromkeys(f'{100 * end:.1f}' for end in (min(found), max(found))))} % "
        f"in {name}"
        for name, found in shares.items()
    ]
    return f"Of the time compared, transfer is {listing(parts)}." if parts else ""


def estimates(findings: Findings) -> str:
    study = findings.machine.study
    sure, tost = percent(study.confidence), percent(of_equivalence(study.confidence))
    return (
        "A contender's time is the geometric mean over replicates of the median steady-state "
        "mini-batch of a process. A ratio is the geometric mean over replicates of the ratio "
        f"within a contest. That is {DESCRIPTION}; it need not be the quotient of the two times "
        f"shown. Its {sure} interval is Student's, on logarithms, with the replicate as the unit. "
        "Faster and slower mean that this interval leaves out 1. Equivalent means that the "
        f"{tost} interval lies within {percent(study.margin)} either way, which is two one-sided "
        f"tests at {percent(1 - study.confidence)}; a row that is both is equivalent. Each row is "
        "judged by itself. P-values corrected by Holm's method over all rows are in "
        "comparisons.csv, and decide nothing. Samples per second are the throughput: all samples "
        "of steady state over the time they took, slow mini-batches included."
    )


def precision(findings: Findings) -> str:
    study = findings.machine.study
    return (
        f"Of a ratio, the half-width of its {percent(study.confidence)} interval, whatever the "
        "ratio is. How many more replicates would reach "
        f"{percent(study.target_precision)} follows from the scatter of those measured, by the F "
        "distribution of the scatter still to come over it. The study never adds any by itself."
    )


def seeds(machine: Machine) -> str:
    parts = []
    for name in machine.workloads:
        numbers = [str(contest.seed) for contest in machine.contests(name).values()]
        if numbers:
            parts.append(f"{name}: {', '.join(numbers)}")
    drawn = listing(f"{d.seed} ({d.workload})" for d in machine.records.datasets)
    return f"Of the contests, by replicate: {'; '.join(parts) or 'none'}. Of the data: {drawn}."


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


def how_it_was_measured(chapter: Chapter) -> Parts:
    trained = workloads(chapter.findings.machine)
    named = [(Rich(f"Workload `{name}`"), text) for name, text in trained]
    return [Terms([*method(chapter.findings), *named])]


SECTION = Section("How it was measured", how_it_was_measured)
