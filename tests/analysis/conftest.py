from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.data.reading import load
from analysis.findings.findings import Findings
from tests.analysis.recipe import ENVIRONMENT, Recipe
from tests.analysis.synthetic import write


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of a default study, as `collect` leaves them."""
    return write(tmp_path_factory.mktemp("records") / "machine")


@pytest.fixture(scope="session")
def findings(folder: Path) -> Findings:
    return Findings(load([folder])[0])


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Recipe], Findings]:
    """The findings of a recipe."""
    return lambda recipe: Findings(load([write(tmp_path_factory.mktemp("found"), recipe)])[0])


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    """`study(2, key=value ...)`: the folder of a small study of its own year, start and seed."""
    small = Recipe(workloads=("mnist-cnn",), threads=(1,), variants=("default",))

    def make(number: int, boot: str = "", **changes: Any) -> Path:
        system = {**ENVIRONMENT["system"], "boot": boot or f"start-{number}"}
        recipe = replace(small, seed=number, year=2020 + number, study=f"default-{number}",
                         system_info={**ENVIRONMENT, "system": system})  # fmt: skip
        return write(tmp_path / str(number), replace(recipe, **changes))

    return make
