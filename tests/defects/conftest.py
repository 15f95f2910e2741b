import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import built_once
from tests.defects.catching import Results, catch, planted

RESULTS = "results.pickle"


@pytest.fixture(scope="session")
def caught(
    surroundings: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Results]:
    """`caught(workload)`: what caught the defects that this workload shows, once for all tests.

    Only defects whose tests were selected are planted.
    """
    chosen = {
        (defect.framework, variant)
        for item in request.session.items
        if isinstance(item, pytest.Function) and "caught" in item.fixturenames
        for defect in [item.callspec.params["defect"]]
        for variant in (defect.name, "right")
    }

    @cache
    def results(workload: str) -> Results:
        def build(folder: Path) -> None:
            with planted():
                found = catch(folder, workload, chosen)
            (folder / RESULTS).write_bytes(pickle.dumps(found))

        folder = built_once(tmp_path_factory, f"defects on {workload}", build)
        found: Results = pickle.loads((folder / RESULTS).read_bytes())
        return found

    return results
