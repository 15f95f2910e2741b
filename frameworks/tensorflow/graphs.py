"""Settings of a network and its training step, read off TensorFlow's traced graphs."""

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from frameworks import reading

SPATIAL = ("Conv2D", "MaxPool", "AvgPool")
POOLS = ("MaxPool", "AvgPool")
PRODUCTS = ("MatMul", "BatchMatMulV2", "Conv2D", "Conv2DBackpropInput")
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
