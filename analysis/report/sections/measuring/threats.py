"""Threats to validity: what weakens the conclusions, the most serious first."""

from analysis.format import count
from analysis.report.layout import Blocks, Bullets, Chapter, Section


def threats(chapter: Chapter) -> Blocks:
    return [Bullets([one.text for one in chapter.notes])]


def inside(chapter: Chapter) -> str:
    number = len(chapter.notes)
    return f"{count(number, 'thing')} weaken{'s' * (number == 1)} the conclusions, with what to do."


SECTION = Section("Threats to validity", threats, inside=inside)
