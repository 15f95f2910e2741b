import os

import pytest

from tests.adapters.training import CONTENDERS, Contender

# On a GPU, JAX would take three quarters of the memory for each process of the tests.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# Some tests use JAX before any adapter has said how many threads its pool is to have.
os.environ.setdefault("NPROC", "1")

# `make test` proves these adapters by the rules of conformance, in tests/conformance.
LATER = {("tensorflow", "eager"), ("keras", "tensorflow"), ("keras", "fit")}

# The networks on which `make test` tries `tuned`: windows beside each other, and overlapping ones.
POOLING = ("valid", "overlapping-pools")

# The networks of tests of many steps in `make test`; tests/adapters/test_oracle.py takes all.
FEW = {
    "test_a_step_leaves_its_batch_alone": ("valid", "regression"),
    "test_layers_over_many_steps": ("residual", "regression"),
}

# Of these tests `make test` tries the first case of each framework, or the first case at all.
FIRST_OF_EACH = {
    "test_a_mode_is_a_setting",
    "test_a_part_is_the_whole_step_without_its_update",
    "test_they_are_trained",
    "test_trains_something_else",
    "test_costs_nothing_but_time",
}
FIRST = {
    "test_a_copy_has_memory_of_its_own",
    "test_a_part_has_the_settings_of_the_step_but_no_optimiser",
    "test_bfloat16_is_seen_where_float32_is_asked_for_and_float64_is_as_ever",
    "test_first_steps_are_those_of_default",
    "test_threads_and_tf32",
    "test_without_waiting_jax_trains_the_same_to_the_last_bit",
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
    tried = set()
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        name, asked = item.originalname, item.callspec.params if hasattr(item, "callspec") else {}
        case = name, asked.get("name") if name in FIRST_OF_EACH else None
        if case in tried or repeats(item):
            item.add_marker(pytest.mark.all)
        if name in FIRST | FIRST_OF_EACH:
            tried.add(case)


def repeats(item: pytest.Function) -> bool:
    """Whether a quicker test proves the same in `make test`; tests/README.md says which."""
    asked = item.callspec.params if hasattr(item, "callspec") else {}
    contender = asked.get("contender")
    if not isinstance(contender, Contender):
        return False
    tuned, jax = contender.variant == "tuned", contender.framework == "jax"
    match item.originalname:
        case "test_rows_of_words_that_do_not_occur" | "test_a_gradient_of_the_input_is_seen":
            return tuned
        case "test_a_step_leaves_its_batch_alone" | "test_layers_over_many_steps":
            return tuned or asked["network"] not in FEW[item.originalname]
        case "test_settings":  # of each optimiser in float64, and of Adam also in float32
            adam, double = asked["optimiser"].kind == "adam", asked["precision"] == "float64"
            return not (adam and double if tuned else adam or double)
        case "test_loss_and_gradient":  # JAX's `tuned` has a pooling of its own, and no more
            return tuned and asked["network"] not in POOLING
        case "test_networks_of_the_literature":  # `NETWORKS` has all of what AlexNet is made of
            return tuned or (jax and asked["name"].startswith("alexnet"))
        case "test_catalogue":  # the perceptron alone
            return tuned or asked["name"] != "mlp"
        case "test_settings_do_not_move_running_averages":
            return tuned and jax
        case "test_the_order_of_relu_and_pool":
            return tuned and jax and asked["network"] != "valid"
    return False
