import pytest

from frameworks.workloads.layers import MaxPool
from tests.adapters.training import CONTENDERS, NETWORKS, Contender

# `make test` proves these adapters by the rules of conformance, in tests/conformance.
LATER = {("tensorflow", "eager"), ("keras", "tensorflow"), ("keras", "fit")}

# The networks of tests of many steps in `make test`; tests/adapters/test_oracle.py takes all.
FEW = {
    "test_a_step_leaves_its_batch_alone": ("valid", "regression"),
    "test_every_layer": ("residual", "regression"),
}


def marked(contender: Contender) -> object:
    marks = [pytest.mark.all] * (contender[:2] in LATER)
    return pytest.param(contender, marks=marks, id="-".join(contender))


@pytest.fixture(params=[marked(contender) for contender in CONTENDERS])
def contender(request: pytest.FixtureRequest) -> Contender:
    found: Contender = request.param
    return found


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and repeats(item):
            item.add_marker(pytest.mark.all)


def repeats(item: pytest.Function) -> bool:
    """Whether a quicker test proves the same in `make test`; tests/README.md says which."""
    asked = item.callspec.params if hasattr(item, "callspec") else {}
    contender = asked.get("contender")
    if not isinstance(contender, Contender):
        return False
    tuned, jax = contender.variant == "tuned", contender.framework == "jax"
    match item.originalname:
        case "test_a_step_leaves_its_batch_alone" | "test_every_layer":
            return asked["network"] not in FEW[item.originalname]
        case "test_settings":  # of each optimiser in float64, and of Adam also in float32
            adam, double = asked["optimiser"].kind == "adam", asked["precision"] == "float64"
            return not (adam and double if tuned else adam or double)
        case "test_loss_and_gradient":  # JAX's `tuned` has a pooling of its own, and no more
            pools = any(isinstance(one, MaxPool) for one in NETWORKS[asked["network"]].layers)
            return tuned and jax and not pools
        case "test_networks_of_the_literature":  # `NETWORKS` has all of what AlexNet is made of
            return jax and (tuned or asked["name"].startswith("alexnet"))
        case "test_catalogue" | "test_settings_do_not_move_running_averages":
            return tuned and jax
        case "test_the_order_of_relu_and_pool":
            return tuned and jax and asked["network"] != "valid"
    return False
