"""How precise the ratios are, and how many more replicates would make them more precise."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.data.results import Machine
from analysis.findings.half_width import ASSURANCE, MOST, HalfWidthLine, minutes_each
from analysis.format import count, percent
from analysis.report.prose import places, share

Lines = Sequence[HalfWidthLine]

FEWEST = 5  # replicates: the scatter of fewer cannot say how many more are needed
TOO_FEW = f"Set `replicates` to {FEWEST} or more: fewer cannot say how many would be enough."


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
        alone = "One replicate has no interval. Set `replicates` to 5 or more."
        return Advice([alone] * any(line.comparison.estimate.ratio for line in lines))
    sentences = [standing(machine, known)]
    short = [line for line in known if not line.reached]
    if not short:
        return Advice(sentences)
    if machine.study.replicates < FEWEST:
        return Advice([*sentences, TOO_FEW])
    more = max(line.more or 0 for line in short)
    replicates = machine.study.replicates + more
    if replicates > MOST:
        return Advice([*sentences, unreachable(machine, short)])
    limited = machine.study.configuration.get("minutes") is not None
    command = again(machine.study.command, replicates, limited)
    needed = (
        f"{count(more, 'more replicate')}, about {duration(more * minutes_each(machine))}, would "
        f"bring {all_of(short)} to {percent(machine.study.target_precision)} with a probability "
        f"of {percent(ASSURANCE)}."
    )
    how = f"Set `replicates: {replicates}`{' and `minutes: null`' * limited}, and run it again."
    then = "This command measures only the new ones:" if command else how
    return Advice([*sentences, needed, then], command)


def standing(machine: Machine, known: Lines) -> str:
    """How many ratios are as precise as the study asks for."""
    asked = percent(machine.study.target_precision)
    reached = [line.half_width or 0.0 for line in known if line.reached]
    others = [line.half_width or 0.0 for line in known if not line.reached]
    if not others:
        every = "Every ratio is" if len(known) > 1 else "The ratio is"
        asked_for = f"; {asked} were asked for" * (share(max(reached)) != asked)
        return f"{every} known to within {share(max(reached))}{asked_for}."
    spread = " to ".join(dict.fromkeys(share(width) for width in (min(others), max(others))))
    if not reached:
        which = "The ratios are" if len(others) > 1 else "The ratio is"
        return f"{which} known to within {spread}; {asked} were asked for."
    rest = "the others" if len(others) > 1 else "the other"
    return (
        f"{len(reached)} of {count(len(known), 'ratio')} {'is' if len(reached) < 2 else 'are'} "
        f"known to within {asked}, {rest} to within {spread}."
    )


def unreachable(machine: Machine, short: Lines) -> str:
    beyond = [line for line in short if machine.study.replicates + (line.more or 0) > MOST]
    return (
        f"{percent(machine.study.target_precision)} would take more than {MOST:,} replicates for "
        f"{places(line.id for line in beyond)}. Set a larger `target_precision`, or use a "
        "quieter machine."
    )


def all_of(short: Lines) -> str:
    return "all of them" if len(short) > 1 else "it"


def again(command: str, replicates: int, limited: bool) -> str:
    """The study's own command with this number of replicates, and without its limit in minutes if
    it is `limited`; "" if it was not Snakemake's."""
    other = {"replicates": str(replicates), **({"minutes": ""} if limited else {})}
    words = [word for word in shlex.split(command) if word.partition("=")[0] not in other]
    if words[:1] != ["snakemake"]:
        return ""
    # Recorded commands end with --config if they have one, and a second would undo it.
    option = [] if "--config" in words else ["--config"]
    # Snakemake reads an empty value as null.
    return shlex.join([*words, *option, *(f"{key}={value}" for key, value in other.items())])


def duration(minutes: float) -> str:
    if minutes < 1.5:
        return f"{60 * minutes:.0f} seconds"
    if minutes < 90:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 48 * 60 else f"{minutes / 1440:.0f} days"
