"""What judging reads of a study: the pairs in its tables, and what its machines lack."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, get_args

from analysis.data.results import BenchmarkId, grouped
from analysis.findings.fairness.certificates import declares
from analysis.findings.speed.transferred import NAME
from analysis.findings.variants.pitfalls import SAME
from analysis.literature.published.table7 import rows
from analysis.literature.tables import tables_of
from analysis.stats.inference import Estimate, Verdict
from analysis.stats.tails import t_above
from frameworks.device import HOST
from workflows.records.storage import RecordError, shown

VERDICTS: dict[str, Verdict] = {name: name for name in get_args(Verdict)}
CONFIDENCE = 0.95  # of the intervals in a study's tables
PART = "part"  # the axis of ratios between a step and its parts
LOSS, GRADIENTS, STEP = "loss", "loss and gradients", "step"
UNLIKE = "was not shown to have the losses of"
POSITION = "position"  # the axis of ratios between the operations of a fresh process
FIRST, OTHERS = "the first", "the next four"

# Settings, and what writing does to the original by the claim.
ALIASES = {"to_same_device": "changed", "to_another_device": "unchanged"}


class KnownRatio(NamedTuple):
    """A ratio and the ends of its interval, all of them known."""

    ratio: float
    low: float
    high: float


class Start(NamedTuple):
    """Seconds that a process takes beside its steps, with the ends of the interval."""

    seconds: float
    low: float
    high: float
    replicates: int


class Time(NamedTuple):
    """Milliseconds of a mini-batch of one contender, with the ends of the interval."""

    id: BenchmarkId
    median: float
    low: float
    high: float


class Pair(NamedTuple):
    """Two contenders that differ in `axis` only: the values of the first and of the second."""

    axis: str
    one: str
    over: str


# Two workers of one thread each over one of two.
WORKERS = Pair("variant", "two-workers", "default")
# Operation by operation over the traced graph.
EAGER = Pair("variant", "trap-eager", "default")


@dataclass(frozen=True)
class MeasuredRatio:
    """A ratio of a study's pairs.csv, traps.csv, parts.csv, elementwise.csv or transferred.csv, in
    the direction of a claim. `id`: what both sides have in common, and one side's own along the
    axis of the pair. The verdict is the study's; if the pair was not compared, `reason` says why.
    `certificate` sums up what was proven about both sides, "" if they may not be compared."""

    study: str
    machine: str
    pair: Pair
    id: BenchmarkId
    estimate: Estimate
    certificate: str
    reason: str

    @property
    def usable(self) -> bool:
        """Whether it may decide a claim: certified, with an interval."""
        return bool(self.certificate and self.estimate.ratio_low and self.estimate.ratio_high)

    @property
    def known(self) -> KnownRatio:
        """The ratio and its interval, if it is usable."""
        ratio, low, high = self.estimate.ends
        assert ratio and low and high
        return KnownRatio(ratio, low, high)

    @property
    def declared(self) -> bool:
        """Whether the two sides differ in something that is declared."""
        return declares(self.certificate)

    @property
    def inverse(self) -> "MeasuredRatio":
        return replace(
            self,
            pair=Pair(self.pair.axis, self.pair.over, self.pair.one),
            estimate=self.estimate.inverse,
        )

    def p(self, limit: float) -> float:
        """Two-sided p of Student's test that the true ratio is `limit`."""
        distance, error = abs(math.log(self.known.ratio / limit)), self.error
        degrees = self.estimate.replicates - 1
        return 2 * t_above(distance / error, degrees) if error else float(not distance)

    @property
    def error(self) -> float:
        """The standard error of the logarithm."""
        found = self.estimate.standard_error(CONFIDENCE)
        assert found is not None
        return found


@dataclass(frozen=True)
class StudyTables:
    """`hardware`: the processor, and other devices on which anything was measured. `missing`: why a
    device is not there, by its name. `aliases`: what writing to the result of a framework's `to`
    does to the original, by framework and setting. `compilation`: how each framework's tutorial
    variant runs its steps. `unread`: whether loss and weights are the same if nobody waits, by
    framework. By contender: `memory`, the MiB of a process at its most, less what it had before its
    network; `starts`, what a process takes before its steps; `gradients`, the largest distance of a
    float32 gradient from the reference's; `quarters`, that of four shards' mean in float64;
    `peaks`, the speed of its arithmetic over that of the machine's own matrix product."""

    name: str
    ratios: tuple[MeasuredRatio, ...]
    hardware: frozenset[str]
    missing: dict[str, str]
    times: tuple[Time, ...] = ()
    aliases: dict[tuple[str, str], str] = field(default_factory=dict)
    compilation: dict[str, frozenset[str]] = field(default_factory=dict)
    unread: dict[str, frozenset[str]] = field(default_factory=dict)
    memory: dict[BenchmarkId, float] = field(default_factory=dict)
    starts: dict[BenchmarkId, Start] = field(default_factory=dict)
    gradients: dict[BenchmarkId, float] = field(default_factory=dict)
    quarters: dict[BenchmarkId, float] = field(default_factory=dict)
    peaks: dict[BenchmarkId, float] = field(default_factory=dict)

    def of(self, pair: Pair) -> list[MeasuredRatio]:
        """The rows of a pair, in its direction."""
        turned = Pair(pair.axis, pair.over, pair.one)
        return [
            ratio if ratio.pair == pair else ratio.inverse
            for ratio in self.ratios
            if ratio.pair in (pair, turned)
        ]


def read(folder: Path) -> StudyTables:
    """A study from the tables of its report, or from its records if the report is brief and leaves
    tables out.

    Raises:
        RecordError: the folder has neither, or tables are of an older version.
    """
    tables = tables_of(folder)
    try:
        return study(folder.name, tables)
    except RecordError as error:
        raise RecordError(f"{folder}: {error}") from None


def study(name: str, tables: Mapping[str, Sequence[dict[str, str]]]) -> StudyTables:
    """A study from the rows of its tables; `studies.csv` may limit its ratios to one axis.

    Raises:
        RecordError: a column is missing, or intervals are not at CONFIDENCE.
    """
    traps, alone = tables.get("traps", ()), tables.get("elementwise", ())
    # A study of more threads than cores says what these bring, not which framework is faster.
    axis = next((one["axis"] for one in rows("studies.csv") if one["study"] == name), "")
    try:
        ratios = tuple(ratio(name, row) for row in tables["pairs"])
        check(ratios, tables["pairs"])
        ratios += tuple(pitfall(name, row) for row in traps)
        ratios += tuple(one for row in tables.get("parts", ()) for one in of_parts(name, row))
        ratios += tuple(of_positions(name, row) for row in alone)
        moved = tables.get(NAME, ())
        ratios += tuple(ratio(name, {**row, row["axis"]: row["one"]}) for row in moved)
        ratios = tuple(one for one in ratios if axis in (one.pair.axis, ""))
        measured = {row["device"] for row in tables["contenders"] if int(row["batches"] or 0)}
        missing = {row["device"]: row["reason"] for row in reversed(tables["missing"])}
        times = tuple(time(row) for row in tables["contenders"] if row["high_ms"] and not axis)
        aliases = read_back(alone)
        operations = {row["workload"] for row in alone}  # which train nothing
        modes = compilation(
            row for row in tables.get("settings", ()) if row["workload"] not in operations
        )
        memory = {
            contender(row): float(row["peak_mib"]) - float(row["idle_mib"])
            for row in tables.get("use", ())
            if row["peak_mib"] and row["idle_mib"] and not axis
        }
        peaks = {
            contender(row): float(row["compute_ms"]) / float(row["median_ms"])
            for row in tables.get("use", ())
            if row["compute_ms"] and not axis
        }
        ends = gathered((row["framework"], row["unread"]) for row in traps if row["unread"])
        starts = {
            contender(row): start(row) for row in tables.get("start", ()) if row["total_high_s"]
        }
        gradients = largest(tables.get("gradients", ()), "float32")
        four = [row for row in tables.get("shards", ()) if row["shards"] == "4"]
        quarters = largest(four, "distance")
    except KeyError as error:
        raise RecordError(f"tables without {shown(error)}; write the report again") from None
    except (ValueError, TypeError, ArithmeticError) as error:
        raise RecordError(f"damaged tables ({shown(error)}); write the report again") from None
    return StudyTables(
        name, ratios, frozenset({HOST.name, *measured}),
        {device: reason for device, reason in missing.items() if device not in measured},
        times, aliases, modes, ends, memory, starts, gradients, quarters, peaks,
    )  # fmt: skip


def check(ratios: Sequence[MeasuredRatio], table: Sequence[dict[str, str]]) -> None:
    """Refuse intervals at another confidence, which the p-values give away."""
    for ratio, row in zip(ratios, table, strict=True):
        p = number(row["p"])
        if ratio.usable and p and 1e-6 < p < 0.5 and not math.isclose(ratio.p(1.0), p, rel_tol=0.1):
            raise RecordError(
                f"its intervals are not at {CONFIDENCE:.0%}; leave `confidence` out of "
                "the configuration, and write the report again"
            )


def ratio(study: str, row: dict[str, str]) -> MeasuredRatio:
    axis = row["axis"]
    one = row.get(axis) or f"{row['framework']}/{row['variant']}"
    return MeasuredRatio(
        study=study,
        machine=row["machine"],
        pair=Pair(axis, one, row["against"]),
        id=contender(row),
        estimate=Estimate(
            int(row["replicates"]),
            number(row["ratio"]),
            number(row["ratio_low"]),
            number(row["ratio_high"]),
            verdict=VERDICTS.get(row["verdict"], "missing"),
        ),
        certificate=row["certificate"],
        reason=row["reason"],
    )


def contender(row: dict[str, str]) -> BenchmarkId:
    workload, framework, variant, device, threads = (row[key] for key in BenchmarkId._fields)
    return BenchmarkId(workload, framework, variant, device, int(threads))


def time(row: dict[str, str]) -> Time:
    ends = float(row["low_ms"]), float(row["high_ms"])
    return Time(contender(row), float(row["median_ms"]), *ends)


def start(row: dict[str, str]) -> Start:
    ends = float(row["total_low_s"]), float(row["total_high_s"])
    return Start(float(row["total_s"]), *ends, int(row["replicates"]))


def pitfall(study: str, row: dict[str, str]) -> MeasuredRatio:
    """A row of traps.csv: the time of a pitfall's variant over that of the variant beside it."""
    proven, reason = evidence(row)
    values = {"axis": "variant", "against": row["beside"], "certificate": proven}
    return ratio(study, {**row, **values, "reason": row["reason"] or reason})


def evidence(row: dict[str, str]) -> tuple[str, str]:
    """What allows a ratio of a pitfall, because no certificate does; and why it is not allowed.

    Its losses must be those of the variant beside it, so that both have done the same work. A time
    that differs counts only if the probe of its fence found unfinished work.
    """
    losses = [number(row[f"loss_{step}"]) for step in ("1", "10", "100", "last")]
    known = [loss for loss in losses if loss is not None]
    who = f"{row['framework']}/{row['variant']}"
    if not known or max(known) > SAME:
        return "", f"{who} {UNLIKE} {row['beside']}"
    if row["verdict"] == "refused":
        return "the same losses; work was left after synchronise()", ""
    if row["verdict"] in ("faster", "slower"):
        return "", f"{who} is {row['verdict']}, but no work was left after its synchronise()"
    return "the same losses", ""


def of_parts(study: str, row: dict[str, str]) -> list[MeasuredRatio]:
    """The two ratios in a row of parts.csv: what loss and gradients take over the loss, and over
    the whole step. They have no verdict of their own, because nobody asks whether they are 1."""
    columns = {LOSS: ("gradient_over_forward", "over_forward"),
               STEP: ("gradient_over_step", "over_step")}  # fmt: skip
    return [
        unranked(study, row, Pair(PART, GRADIENTS, over), name, ends)
        for over, (name, ends) in columns.items()
    ]


def of_positions(study: str, row: dict[str, str]) -> MeasuredRatio:
    """The ratio in a row of elementwise.csv: what the first operation of a process takes over the
    next four."""
    alone = {**row, "replicates": row["first_replicates"]}
    return unranked(study, alone, Pair(POSITION, FIRST, OTHERS), "first_over_others", "first")


def unranked(study: str, row: dict[str, str], pair: Pair, name: str, ends: str) -> MeasuredRatio:
    """The ratio in the column `name`, its interval in those that begin with `ends`. It has no
    verdict of its own."""
    values = {"axis": pair.axis, pair.axis: pair.one, "against": pair.over, "ratio": row[name]}
    values |= {f"ratio_{end}": row[f"{ends}_{end}"] for end in ("low", "high")}
    verdict = "cannot tell" if row[name] else ""
    return ratio(study, {**row, **values, "verdict": verdict})


def read_back(rows: Sequence[dict[str, str]]) -> dict[tuple[str, str], str]:
    """What writing to the result of a framework's `to` did to the original."""
    return {
        (row["framework"], setting): row[setting]
        for row in rows
        for setting in ALIASES
        if row[setting] in ALIASES.values()
    }


def compilation(rows: Iterable[dict[str, str]]) -> dict[str, frozenset[str]]:
    """How the tutorials' variants run their training steps, by framework."""
    return gathered(
        (row["framework"], row["value"])
        for row in rows
        if row["setting"] == "compilation" and row["variant"] == "default"
    )


def gathered(values: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """All values of each framework."""
    return {framework: frozenset(own) for framework, own in grouped(values).items()}


def largest(rows: Sequence[dict[str, str]], column: str) -> dict[BenchmarkId, float]:
    """The largest number of each contender."""
    found = grouped((contender(row), float(row[column])) for row in rows if row[column])
    return {one: max(own) for one, own in found.items()}


def number(text: str) -> float | None:
    return float(text) if text else None
