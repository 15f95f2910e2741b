from collections.abc import Iterator

import pytest

from tests.defects.catching import Caught, catch, planted


@pytest.fixture(scope="module")
def caught(
    surroundings: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, str], Caught]]:
    """Every defect through every check, once for all."""
    with planted():
        yield catch(tmp_path_factory.mktemp("defects"))
