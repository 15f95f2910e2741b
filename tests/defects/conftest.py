import pickle
from pathlib import Path

import pytest

from tests.conftest import built_once
from tests.defects.catching import Results, catch, planted

RESULTS = "results.pickle"


@pytest.fixture(scope="session")
def caught(surroundings: None, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Every defect through every check, once for all tests."""

    def build(folder: Path) -> None:
        with planted():
            results = catch(folder)
        (folder / RESULTS).write_bytes(pickle.dumps(results))

    folder = built_once(tmp_path_factory, "defects", build)
    found: Results = pickle.loads((folder / RESULTS).read_bytes())
    return found
