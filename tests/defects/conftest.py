from collections.abc import Iterator

import pytest

from tests.defects.catching import Results, catch, planted


@pytest.fixture(scope="module")
def caught(surroundings: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """Every defect through every check, once for all."""
    with planted():
        yield catch(tmp_path_factory.mktemp("defects"))
