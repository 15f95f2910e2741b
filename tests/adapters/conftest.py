import pytest

from tests.adapters.training import CONTENDERS, Contender


@pytest.fixture(params=CONTENDERS, ids="-".join)
def contender(request: pytest.FixtureRequest) -> Contender:
    found: Contender = request.param
    return found
