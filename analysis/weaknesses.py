"""What weakens the conclusions, each said only because it was seen in the records."""

from collections.abc import Callable, Iterator

from analysis.certificates import size
from analysis.machine import virtual
from analysis.settings import NONE
from analysis.study import Seat
from analysis.tables import Findings
from analysis.words import count, crossed, listing, percent, title

FEW = 5  # replicates; below, Student's t is more than 2.8 standard errors
SWITCHES = 20  # involuntary context switches per second
STARVED = 0.9  # of one processor's time


def weaknesses(findings: Findings, machines: int) -> list[str]:
    """In the order of their weight."""
    found = [sentence for look in LOOKS for sentence in look(findings)]
    if machines == 1:
        found.append("One machine: nothing here says that the ratios hold on another.")
    return found


def smoke(findings: Findings) -> Iterator[str]:
    if findings.machine.study.smoke:
        yield "A smoke run: so small a budget shows that everything works, and little else."


def stand_in(findings: Findings) -> Iterator[str]:
    for record in findings.machine.records.datasets:
        if record.kind == "stand-in":
            yield (
                f"Stand-in data for {record.workload}: {record.source}. Times should hardly depend "
                "on pixels, but the losses are not MNIST's."
            )


def other_reference(findings: Findings) -> Iterator[str]:
    wanted = findings.machine.study.reference
    used = {row.reference for row in findings.comparisons} - {wanted}
    for name in sorted(used):
        yield f"{title(wanted)} was not measured; ratios refer to {title(name)} instead."


def few_replicates(findings: Findings) -> Iterator[str]:
    numbers = [row.replicates for row in findings.comparisons if row.ratio is not None]
    if numbers and min(numbers) < FEW:
        yield (
            f"Few replicates ({count(min(numbers), 'replicate')} in the smallest comparison): "
            "intervals are wide, and Student's assumptions weigh more."
        )


def gaps(findings: Findings) -> Iterator[str]:
    failed = [line for line in findings.missing if line.status == "failed"]
    if failed:
        keys = [(s.workload, s.framework, s.variant, s.device, s.threads) for s in failed]
        yield f"Contenders failed: {crossed(keys)}. The reasons are below."
    frameworks = {seat.framework for seat in findings.roster}
    absent = frameworks - {seat.framework for seat in findings.measured}
    if absent:
        yield f"Not measured at all: {listing(title(name) for name in sorted(absent))}."


def refused(findings: Findings) -> Iterator[str]:
    pairs = [row for row in findings.comparisons if row.verdict == "refused"]
    if pairs:
        keys = [(r.workload, r.framework, r.variant, r.device, r.threads) for r in pairs]
        yield f"Refused comparison, for want of a certificate: {crossed(keys)}."


def deviations(findings: Findings) -> Iterator[str]:
    seats: dict[str, list[Seat]] = {}
    sizes: dict[str, list[str]] = {}
    for record in findings.machine.records.certificates:
        for row in record.rows:
            if row.status == "declared":
                seats.setdefault(row.reason, []).append(Seat.of(record.workload, row))
                sizes.setdefault(row.reason, []).append(size(row))
    for reason, found in seats.items():
        yield (
            f"Declared deviation in {crossed(found)}: {reason}. Its size: "
            f"{listing(dict.fromkeys(sizes[reason]), last='or')}. With plain SGD in its place the "
            "certificate holds."
        )


def unequal(findings: Findings) -> Iterator[str]:
    names = {line.setting for line in findings.settings if line.equal == "no"}
    if names:
        yield (
            f"Settings that differ between contenders compared: {listing(sorted(names))}; "
            "see the table of settings."
        )
    changing = {line.setting for line in findings.settings if " | " in line.value} - {NONE}
    if changing:
        yield f"Settings that changed between replicates: {listing(sorted(changing))}."


def virtual_machine(findings: Findings) -> Iterator[str]:
    if kind := virtual(findings.machine):
        yield f"The machine is a {kind}: neighbours and the host's clock are out of sight."


def frequency(findings: Findings) -> Iterator[str]:
    unknown = [
        line.key.rpartition(".")[2]
        for line in findings.environment
        if line.key.endswith((".governor", ".turbo")) and line.value in ("unknown", "not readable")
    ]
    if unknown:
        yield (
            f"Not readable here: {listing(unknown)}. The processor's frequency may have changed "
            "while measuring; the turns spread that over all contenders."
        )


def code(findings: Findings) -> Iterator[str]:
    contests = findings.machine.records.contests
    if any(contest.code.dirty for contest in contests):
        yield "The code differed from its commit while measuring, so it cannot be looked up."
    if any(not contest.code.commit for contest in contests):
        yield "The commit of the code is not known: samestep ran outside a clone."
    if len({(contest.code.version, contest.code.commit) for contest in contests}) > 1:
        yield "Contests ran with different versions of the code."
    if len({contest.configuration for contest in contests}) > 1:
        yield "Contests ran under different configurations."


def versions(findings: Findings) -> Iterator[str]:
    changed = [line.key for line in findings.environment if line.changed == "yes"]
    names = sorted(key for key in changed if key.startswith("versions."))
    if names:
        yield f"Versions changed between contests: {listing(names)}."


def disturbed(findings: Findings) -> Iterator[str]:
    steady = findings.batches[~findings.batches["warmup"]]
    groups = steady.groupby("contender")
    seconds = groups["ms"].sum() / 1000
    rates = groups["switches"].sum() / seconds
    high = rates[rates > SWITCHES]
    if len(high):
        yield (
            f"Others wanted the processor: up to {high.max():.0f} involuntary context switches "
            f"a second ({listing(high.index)})."
        )
    alone = steady[(steady["device"] == "cpu") & (steady["threads"] == 1)]
    wall = alone[["data_ns", "transfer_ns", "step_ns"]].sum(axis=1)
    share = (
        alone["cpu_ns"].groupby(alone["contender"]).sum() / wall.groupby(alone["contender"]).sum()
    )
    low = share[share < STARVED]
    if len(low):
        yield (
            f"Some single-threaded contenders had less than a whole processor, down to "
            f"{percent(low.min())} of its time ({listing(low.index)})."
        )


def losses(findings: Findings) -> Iterator[str]:
    wild = findings.batches[~findings.batches["loss"].map(lambda x: abs(x) < float("inf"))]
    if len(wild):
        yield f"Losses that are not finite: {listing(sorted(set(wild['contender'])))}."


LOOKS: tuple[Callable[[Findings], Iterator[str]], ...] = (
    smoke, stand_in, refused, gaps, other_reference, few_replicates, deviations, unequal,
    losses, disturbed, virtual_machine, frequency, code, versions,
)  # fmt: skip
