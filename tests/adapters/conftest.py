import pytest

from tests.adapters.training import CONTENDERS, Contender

# `make test` proves these adapters by the rules of conformance, in tests/conformance.
LATER = {("tensorflow", "eager"), ("keras", "tensorflow"), ("keras", "fit")}


def marked(contender: Contender) -> object:
    marks = [pytest.mark.all] * (contender[:2] in LATER)
    return pytest.param(contender, marks=marks, id="-".join(contender))


@pytest.fixture(params=[marked(contender) for contender in CONTENDERS])
def contender(request: pytest.FixtureRequest) -> Contender:
    found: Contender = request.param
    return found
