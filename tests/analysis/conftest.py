from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.data.loading import load
from analysis.findings.findings import Findings
from tests.analysis.synthetic import Recipe, write


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of a default study, as `collect` leaves them."""
    return write(tmp_path_factory.mktemp("records") / "machine")


@pytest.fixture(scope="session")
def findings(folder: Path) -> Findings:
    return Findings(load([folder])[0])


@pytest.fixture
def found(tmp_path: Path) -> Callable[[Recipe], Findings]:
    """The findings of a recipe."""

    def make(recipe: Recipe) -> Findings:
        return Findings(load([write(tmp_path / recipe.machine, recipe)])[0])

    return make
