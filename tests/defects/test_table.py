"""The table in the documentation is about the defects that there are."""

import re

from tests.defects.catching import planted
from tests.defects.table import DOCUMENT, TITLES, answers, summary

with planted():
    from planted.registry import DEFECTS

ROW = re.compile(r"^\| (`.+?) \| (.+?) \| .* \| (.*?) \|$", re.M)


def test_it_has_every_defect_with_the_check_that_catches_it() -> None:
    rows = ROW.findall(DOCUMENT.read_text())
    wanted = [
        (summary(defect.name, defect.summary), defect.caught_by, answers(defect.probes))
        for theme in TITLES
        for defect in DEFECTS.values()
        if defect.theme == theme
    ]
    assert rows == wanted
    assert len(wanted) == len(DEFECTS)
    assert f"{len(DEFECTS)} defects" in DOCUMENT.read_text()
