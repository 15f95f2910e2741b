"""The table in the documentation is about the defects that there are."""

from tests.defects.catching import Caught, planted
from tests.defects.table import DOCUMENT, TITLES, answers, document, summary

with planted():
    from planted.registry import DEFECTS

ORDERED = [key for theme in TITLES for key, one in DEFECTS.items() if one.theme == theme]


def rows() -> list[list[str]]:
    """The cells of each defect."""
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]


def test_it_has_every_defect_with_the_check_that_catches_it() -> None:
    found = [(name, by, probes) for name, by, *_, probes in rows()]
    wanted = [DEFECTS[key] for key in ORDERED]
    assert len(wanted) == len(DEFECTS)
    assert found == [
        (summary(one.name, one.summary), one.caught_by, answers(one.probes)) for one in wanted
    ]


def test_the_rest_of_the_page_is_written_by_the_code() -> None:
    """The page's own rows, read back, make the same page: its text and its summary are current."""
    caught = {
        key: Caught(by, *(text.replace("\\|", "|") for text in said))
        for key, (_, by, *said, _) in zip(ORDERED, rows(), strict=True)
    }
    assert document(caught) == DOCUMENT.read_text()
