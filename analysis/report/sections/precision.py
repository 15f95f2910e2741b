"""How precise the ratios are, and how many more replicates would make them more precise."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.data.results import Machine
from analysis.findings.precision import ASSURANCE, MOST, PrecisionLine, minutes_each
from analysis.format import count, crossed, percent

Lines = Sequence[PrecisionLine]


@dataclass(frozen=True)
class Advice:
    """`command` is the study's own with more replicates, "" if no more are advised."""

    sentences: list[str]
    command: str = ""


def advice(machine: Machine, lines: Lines) -> Advice:
    """How precise the ratios are, and what would make them as precise as the study asks for;
    nothing if there is no ratio."""
    known = [line for line in lines if line.half_width is not None]
    if not known:
        alone = "One replicate has no interval, so the precision of the ratios is unknown."
        return Advice([alone] * any(line.comparison.estimate.ratio for line in lines))
    sentences = [standing(machine, known)]
    short = [line for line in known if not line.reached]
    if not short:
        return Advice(sentences)
    replicates = machine.study.replicates + max(line.more or 0 for line in short)
    sentences.append(needed(machine, short, several=len({line.id.framework for line in known}) > 1))
    if replicates > MOST:
        return Advice(sentences)
    limited = machine.study.configuration.get("minutes") is not None
    sentences.append(
        f"To have {replicates} replicates, set replicates: {replicates}"
        + " and minutes: null" * limited
        + " and run the same command again: only the new ones are measured."
    )
    return Advice(sentences, again(machine.study.command, replicates, limited))


def standing(machine: Machine, known: Lines) -> str:
    """How many ratios are as precise as the study asks for."""
    asked, sure = percent(machine.study.target_precision), percent(machine.study.confidence)
    reached = [line.half_width or 0.0 for line in known if line.reached]
    others = [line.half_width or 0.0 for line in known if not line.reached]
    if not others:
        every = "Every ratio is" if len(known) > 1 else "The ratio is"
        asked_for = f"; {asked} were asked for" * (percent(max(reached)) != asked)
        return f"{every} known to within {percent(max(reached))} ({sure} interval{asked_for})."
    number = f"{len(reached) or 'None'} of {count(len(known), 'ratio')}"
    spread = " to ".join(dict.fromkeys(percent(width) for width in (min(others), max(others))))
    rest = "the others" if len(others) > 1 else "the other"
    return (
        f"{number} {'is' if len(reached) < 2 else 'are'} known to within {asked} ({sure} interval)"
        + (f", {rest} to within {spread}." if reached else f": to within {spread}.")
    )


def needed(machine: Machine, short: Lines, several: bool) -> str:
    """How many more replicates would make all ratios that precise."""
    study = machine.study
    worst = max(short, key=lambda line: line.more or 0)
    more = worst.more or 0
    asked = percent(study.target_precision)
    if study.replicates + more > MOST:
        beyond = [line for line in short if study.replicates + (line.more or 0) > MOST]
        return (
            f"No study can bring {all_of(short)} to within {asked}: "
            f"{places(beyond, several)} would need more than {MOST:,} replicates, the most that a "
            "study may have."
        )
    text = (
        f"{count(more, 'more replicate')}, about {duration(more * minutes_each(machine))} of "
        f"contests, would bring {all_of(short)} to within {asked} with a "
        f"probability of {percent(ASSURANCE)}"
    )
    if len(short) > 1:
        text += f"; {places([worst], several)} needs the most"
    return f"{text}."


def all_of(short: Lines) -> str:
    return "all ratios" if len(short) > 1 else "it"


def again(command: str, replicates: int, limited: bool) -> str:
    """The study's own command with as many replicates, and without its limit in minutes if it is
    `limited`; "" if it was not Snakemake's."""
    other = {"replicates": str(replicates), **({"minutes": ""} if limited else {})}
    words = [word for word in shlex.split(command) if word.partition("=")[0] not in other]
    if words[:1] != ["snakemake"]:
        return ""
    # Recorded commands end with --config if they have one, and a second would undo it.
    option = [] if "--config" in words else ["--config"]
    # Snakemake reads an empty value as null.
    return shlex.join([*words, *option, *(f"{key}={value}" for key, value in other.items())])


def places(lines: Lines, several: bool) -> str:
    return crossed(
        [
            (one.workload, one.device, one.threads, one.variant, *[one.framework] * several)
            for one in (line.id for line in lines)
        ]
    )


def duration(minutes: float) -> str:
    if minutes < 1.5:
        return f"{60 * minutes:.0f} seconds"
    if minutes < 90:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 48 * 60 else f"{minutes / 1440:.0f} days"
