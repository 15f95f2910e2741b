"""Settings of a network and its training step, read off TensorFlow's traced graphs."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework.config import is_op_determinism_enabled

from frameworks import reading

SPATIAL = ("Conv2D", "MaxPool", "AvgPool")
POOLS = ("MaxPool", "AvgPool")
PRODUCTS = ("MatMul", "BatchMatMulV2", "Conv2D", "Conv2DBackpropInput")
# What tf.debugging and tf.print put into graphs.
CHECKS = ("CheckNumerics", "CheckNumericsV2", "DebugNumericSummaryV2", "DebugIdentityV2", "PrintV2")
# operations to look through
PASSED_ON = ("Identity", "Cast", "Reshape", "Transpose", "BiasAdd", "Pad", "PadV2")


def forward(network: Any, images: Any) -> list[Any]:
    """The operations of the network's forward pass, from a trace."""
    traced = tf.function(lambda x: network(x, training=True)).get_concrete_function(images)
    return list(traced.graph.get_operations())


def layout(operations: Iterable[Any]) -> str:
    formats = {op.get_attr("data_format").decode() for op in operations if op.type in SPATIAL}
    return "/".join(sorted(formats)) or "n/a"


def relu_and_pool(operations: Iterable[Any]) -> str:
    found = set()
    for operation in operations:
        if operation.type in POOLS:
            found |= {"relu first" for op in sources(operation) if op.type == "Relu"}
            found |= {"pool first" for op in users(operation) if op.type == "Relu"}
    return reading.every(found)


def sources(operation: Any) -> Iterator[Any]:
    """The operations that compute its inputs, except the kinds in PASSED_ON."""
    for tensor in operation.inputs:
        if tensor.op.type in PASSED_ON:
            yield from sources(tensor.op)
        else:
            yield tensor.op


def users(operation: Any) -> Iterator[Any]:
    """The operations that use its outputs, except the kinds in PASSED_ON."""
    for tensor in operation.outputs:
        for user in tensor.consumers():
            if user.type in PASSED_ON:
                yield from users(user)
            else:
                yield user


def compilation(step: Any) -> str:
    """What a call of the training step runs: Python, a traced graph, or what XLA makes of it."""
    direct = hasattr(step, "concrete")  # it calls its graph, whatever runs functions eagerly
    function = isinstance(step, tf.types.experimental.PolymorphicFunction)
    if not direct and (not function or tf.config.functions_run_eagerly()):
        return "eager"
    compiled = getattr(step, "traced", step)._jit_compile
    name = "tf.function" + ", XLA" * bool(compiled) + ", XLA's clusters" * clusters()
    # Unless somebody has asked, only `disable_...` options are there, and they are off.
    options = tf.config.optimizer.get_experimental_options()
    asked = {key: on for key, on in options.items() if on or not key.startswith("disable_")}
    return reading.with_options(name, asked)


def clusters() -> bool:
    """Whether TensorFlow compiles parts of graphs unasked."""
    flags = os.environ.get("TF_XLA_FLAGS", "")
    return bool(tf.config.optimizer.get_jit()) or "--tf_xla_auto_jit" in flags


def debugging(step: Any) -> str:
    """Modes of the process, and operations in the traced graphs that modes have left there."""
    graphs = [one.graph for one in step._list_all_concrete_functions()]
    kinds = {operation.type for graph in graphs for operation in graph.get_operations()}
    return reading.on(
        {
            "functions run eagerly": tf.config.functions_run_eagerly(),
            "callbacks on operations": bool(context.context().op_callbacks),
            "checks in the graph": bool(kinds & {*CHECKS}),
            "deterministic operations": is_op_determinism_enabled(),
        }
    )


def input_gradient(step: Any, kernel: Any) -> str:
    """Whether the training steps traced so far compute a gradient of the input. They then multiply
    by the first trained kernel not only in the forward pass, and use the second product, too."""
    found = set()
    for traced in step._list_all_concrete_functions():
        graph = traced.graph
        handles = [inner for outer, inner in graph.captures if outer is kernel.handle]
        reads = [op for h in handles for op in h.consumers() if op.type == "ReadVariableOp"]
        products = {op for read in reads for op in users(read) if op.type in PRODUCTS}
        computed = len(products & used(graph)) > 1
        found.add("computed" if computed else "not computed")
    return reading.every(found)


def used(graph: Any) -> set[Any]:
    """The operations whose results reach an output or a variable. TensorFlow runs no others."""
    left = [tensor.op for tensor in graph.outputs] + list(graph.control_outputs)
    found: set[Any] = set()
    while left:
        operation = left.pop()
        if operation not in found:
            found.add(operation)
            left += [tensor.op for tensor in operation.inputs] + list(operation.control_inputs)
    return found
