"""What a step's time goes to: names that profilers gave, and a profile of each framework."""

from collections.abc import Iterable

import pytest

from frameworks import operations as o
from frameworks.jax.profiling.profiler import Program
from frameworks.operations import Event
from frameworks.registry import framework
from frameworks.workloads import load
from tests.adapters.training import Contender, batches
from workflows.worker.profiling import profiled

SIZES = {
    "mlp": {"features": 1000, "hidden": [200, 200], "samples": 3200},
    "mnist-cnn": {"filters": [8, 16], "samples": 6400},
}
GRADIENT, STEP = "jit(update)/transpose(jvp())", "jit(update)/jvp()"

# As torch 2.13, tensorflow 2.21 and jax 0.10.2 named them.
NAMES = [
    ("pytorch", "aten::addmm", o.PRODUCT),
    ("pytorch", "aten::mm", o.PRODUCT),
    ("pytorch", "aten::mkldnn_convolution", o.FORWARD),
    ("pytorch", "aten::convolution_backward", o.BACKWARD),
    ("pytorch", "aten::max_pool2d_with_indices_backward", o.POOLING),
    ("pytorch", "aten::threshold_backward", o.ELEMENTWISE),
    ("pytorch", "aten::fill_", o.COPIES),
    ("pytorch", "Optimizer.step#Adam.step aten::div", o.OPTIMISER),
    ("pytorch", "Optimizer.zero_grad#Adam.zero_grad", o.OPTIMISER),
    ("pytorch", "autograd::engine::evaluate_function: AddmmBackward0", o.DISPATCH),
    ("pytorch", "Torch-Compiled Region: 0/0", o.UNACCOUNTED),
    ("tensorflow", "sequential_1/relu1_1/Relu:_MklNativeFusedMatMul", o.PRODUCT),
    ("tensorflow", "gradient_tape/MatMul/MatMul_1:_MklMatMul", o.PRODUCT),
    ("tensorflow", "sequential_1/relu3_1/Relu:_MklNativeFusedConv2D", o.FORWARD),
    ("tensorflow", "gradient_tape/Conv2DBackpropInput:_MklNativeConv2DBackpropInput", o.DATA),
    ("tensorflow", "gradient_tape/f:_MklNativeConv2DBackpropFilterWithBias", o.WEIGHTS),
    ("tensorflow", "gradient_tape/MaxPool2d/MaxPoolGrad:_MklNativeMaxPoolGrad", o.POOLING),
    ("tensorflow", "gradient_tape/sequential_1/relu1_1/ReluGrad:ReluGrad", o.ELEMENTWISE),
    ("tensorflow", "adam/Mul_3:Mul", o.OPTIMISER),
    ("tensorflow", "adam_1/Square_6:Square", o.OPTIMISER),  # of the second network
    ("tensorflow", "ResourceApplyAdam_2:ResourceApplyAdam", o.OPTIMISER),
    ("tensorflow", "MatMul_1/ReadVariableOp:ReadVariableOp", o.DISPATCH),
    ("tensorflow", "EagerLocalExecute: Conv2DBackpropInput", o.DATA),
    ("tensorflow", "EagerLocalExecute: Mul", o.UNACCOUNTED),  # perhaps the optimiser's
    ("tensorflow", "__inference_step_596:__inference_step_596", o.UNACCOUNTED),  # with XLA
    ("jax", f"dot {STEP}/dot_general > {STEP}/jit(relu)/max", o.PRODUCT),
    ("jax", f"dot {GRADIENT}/transpose > jit(update)/add", o.PRODUCT),
    ("jax", f"convolution {STEP}/conv_general_dilated > {STEP}/jit(relu)/max", o.FORWARD),
    ("jax", f"convolution {GRADIENT}/conv_general_dilated > jit(update)/add", o.WEIGHTS),
    ("jax", f"convolution {GRADIENT}/conv_general_dilated > {GRADIENT}/select_n", o.DATA),
    ("jax", "convolution - > jit(update)/add", o.WEIGHTS),
    ("jax", f"reduce-window {STEP}/reduce_window_max > {STEP}/add", o.POOLING),
    ("jax", f"iota - > {GRADIENT}/select_and_scatter", o.POOLING),
    ("jax", f"copy - > {GRADIENT}/conv_general_dilated", o.COPIES),
    ("jax", f"maximum {STEP}/jit(relu)/max > {STEP}/dot_general", o.ELEMENTWISE),
    ("jax", "add jit(update)/add > -", o.OPTIMISER),
    ("jax", f"iota - > {STEP}/add", o.UNACCOUNTED),
    ("jax", "fusion.3", o.UNACCOUNTED),
]

HLO = """\
HloModule jit_update

%fused.1 (param_0.1: f32[8,8]) -> f32[64] {
  %param_0.1 = f32[8,8]{1,0} parameter(0)
  %copy.9 = f32[8,8]{0,1} copy(%param_0.1)
  ROOT %bitcast.9 = f32[64]{0} bitcast(%copy.9)
}

ENTRY %main.2 (p.1: f32[8,8], p.2: f32[8,8]) -> (f32[64], f32[8,8]) {
  %p.1 = f32[8,8]{1,0} parameter(0), metadata={op_name="p"}
  %p.2 = f32[8,8]{1,0} parameter(1)
  %dot.3 = f32[8,8]{1,0} dot(%p.1, %p.2), metadata={op_name="jit(update)/jvp()/dot_general" stack_frame_id=3}
  %fusion.7 = f32[64]{0} fusion(%dot.3), kind=kLoop, calls=%fused.1
  %pair.1 = (f32[64]{0}, /*index=1*/f32[8,8]{1,0}) custom-call(%fusion.7), metadata={op_name="jit(update)/add"}
  ROOT %tuple.1 = (f32[64]{0}, f32[8,8]{1,0}) tuple(%pair.1, %dot.3)
}
"""  # noqa: E501


@pytest.mark.parametrize(("name", "operation", "found"), NAMES)
def test_each_name_has_its_category(name: str, operation: str, found: str) -> None:
    assert o.category(operation, framework(name).operations) == found


def test_tables_have_no_category_of_their_own() -> None:
    for name in ("pytorch", "tensorflow", "jax"):
        assert {found for _, found in framework(name).operations} <= set(o.CATEGORIES)


def test_an_instruction_is_what_it_contains_and_who_uses_it() -> None:
    names = Program.read(HLO).names
    assert names["fusion.7"] == "copy - > jit(update)/add"
    assert names["dot.3"] == "dot jit(update)/jvp()/dot_general > jit(update)/add"
    assert names["pair.1"] == "custom-call jit(update)/add > -"


def spent(*threads: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    return o.seconds(([Event(*event) for event in events] for events in threads), 0.5)


def test_the_innermost_operation_counts_and_threads_share_what_passed() -> None:
    assert spent([("a", 0, 10), ("b", 2, 4), ("c", 3, 4), ("b", 6, 7)]) == {
        "a": 3.5, "b": 1.0, "c": 0.5,
    }  # fmt: skip
    assert spent([("a", 0, 4)], [("b", 2, 8)]) == {"a": 1.5, "b": 2.5}
    assert spent([("a", 0, 4)], [("a", 0, 4)]) == {"a": 2.0}
    assert spent([("a", 0, 2), ("a", 2, 4), ("empty", 4, 4)], []) == {"a": 2.0}


def test_what_no_operation_took_is_dispatch() -> None:
    table = [("one", o.PRODUCT)]
    assert o.by_category({"one": 1.0, "two": 2.0}, table, 4.0) == {
        o.PRODUCT: 1.0, o.DISPATCH: 1.0, o.UNACCOUNTED: 2.0,
    }  # fmt: skip
    assert o.by_category({"one": 1.1}, table, 1.0) == {o.PRODUCT: 1.1}


@pytest.mark.parametrize("workload", SIZES)
@pytest.mark.parametrize("variant", ["default", pytest.param("tuned", marks=pytest.mark.all)])
@pytest.mark.parametrize("name", ["pytorch", "tensorflow", "jax"])
def test_a_profile_finds_products_convolutions_and_the_optimiser(
    name: str, variant: str, workload: str
) -> None:
    small = load(workload, SIZES[workload])
    trainer = Contender(name, variant).trainer(small, "float32")
    drawn = list(batches(small, 4))
    found = profiled(trainer, lambda step: drawn[step % 4], framework(name).operations)
    total = sum(found.values())
    assert found[o.PRODUCT] > 0 and found[o.OPTIMISER] > 0
    assert found.get(o.UNACCOUNTED, 0.0) < 0.4 * total
    assert found.get(o.DISPATCH, 0.0) < total
    parts = [o.FORWARD, o.BACKWARD] if name == "pytorch" else [o.FORWARD, o.DATA, o.WEIGHTS]
    pooled = [] if (name, variant) == ("jax", "tuned") else [o.POOLING]  # element-wise there
    for part in [*parts, *pooled]:
        assert (found.get(part, 0.0) > 0) == (workload == "mnist-cnn"), part
