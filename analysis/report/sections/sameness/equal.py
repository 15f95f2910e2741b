"""What is equal: the settings that were read back or probed, and do not differ."""

from analysis.findings.fairness.audit import Entry
from analysis.findings.fairness.checklist import HANDLED
from analysis.format import count, title
from analysis.report.layout import Blocks, Chapter, File, Section, Terms
from analysis.report.sections.sameness.differences import audited


def answers(one: Entry) -> str:
    """The answer that all frameworks share, or each framework's own."""
    if len(set(one.values.values())) == 1:
        return next(iter(one.values.values()))
    return "; ".join(f"{title(name)}: {value}" for name, value in one.values.items())


def equal_entries(chapter: Chapter) -> list[Entry]:
    return [one for one in audited(chapter.findings) if one.status == "equal"]


def equal(chapter: Chapter) -> Blocks:
    found = equal_entries(chapter)
    if not found:
        return []
    settings = [(one.title, answers(one)) for one in found]
    return [Terms([*settings, *HANDLED.items()]), File("settings.csv")]


def inside(chapter: Chapter) -> str:
    number = len(equal_entries(chapter))
    verb = "does" if number == 1 else "do"
    return f"{count(number, 'setting')}, read back or probed, {verb} not differ between frameworks."


SECTION = Section("What is equal", equal, inside=inside)
