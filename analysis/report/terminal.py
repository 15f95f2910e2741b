"""The report's first screen, for the terminal that made it."""

from analysis.report.page import Chapter


def lines(chapter: Chapter, several: bool) -> list[str]:
    """What to know first, whether the controls came out right, the answer and how to sharpen it;
    below the machine's name if it is one of `several`."""
    command = chapter.advice.command
    return [
        *["", f"{chapter.machine}:"] * several,
        *spaced([f"{one.heading}: {one.text}" for one in chapter.warnings]),
        *spaced([f"Controls: {chapter.controls}"]),
        *spaced([chapter.trap_summary] * bool(chapter.trap_summary)),
        *spaced(chapter.summary),
        *spaced([f"- {claim}" for claim in chapter.claims]),
        *spaced(chapter.advice.sentences + [f"  {command}"] * bool(command)),
    ]


def spaced(paragraph: list[str]) -> list[str]:
    """With an empty line before it, if there is anything."""
    return [""] * bool(paragraph) + paragraph
