"""TensorFlow's operations by what they do: a kernel is `name:type` in its profiler.

Keras names its optimiser's operations after it (`adam/Mul_3:Mul`). oneDNN's kernels have a prefix
and may have a bias and a ReLU in them. Without tf.function there is no name, only
`EagerLocalExecute: Mul`: arithmetic may then be the optimiser's, and is unaccounted.
"""

from frameworks.operations import (
    COPIES,
    DATA,
    DISPATCH,
    ELEMENTWISE,
    FORWARD,
    OPTIMISER,
    POOLING,
    PRODUCT,
    WEIGHTS,
    Table,
)

OPERATIONS: Table = (
    (r"(^|/)(adam|sgd|rmsprop)(_\d+)?/|: ?ResourceApply\w+$", OPTIMISER),
    (r": ?(_Mkl)?(Native)?_?(Fused)?(Batch)?MatMul(V2|V3)?$", PRODUCT),
    (r": ?\w*Conv2DBackpropInput\w*$", DATA),
    (r": ?\w*Conv2DBackpropFilter\w*$", WEIGHTS),
    (r": ?\w*Conv2D\w*$", FORWARD),
    (r": ?\w*(Max|Avg)Pool\w*$", POOLING),
    (
        r": ?(_Mkl)?(Native)?_?(Relu\w*|BiasAdd\w*|Tanh\w*|Sigmoid\w*|\w*Softmax\w*"
        r"|\w*CrossEntropy\w*|FusedBatchNorm\w*)$",
        ELEMENTWISE,
    ),
    (
        r":(_Mkl)?(Native)?_?(AddV?2?|AddN|Sub|Mul|RealDiv|DivNoNan|Square\w*|Sqrt|Rsqrt|Neg|Sum"
        r"|Mean|Select\w*|Maximum|Greater\w*|Pow)$",
        ELEMENTWISE,
    ),
    (r": ?(Transpose|Copy\w*|Cast|Fill|ZerosLike|ConcatV2|Pack|Unpack|Split|Pad|Tile)$", COPIES),
    (
        r": ?(_?\w*Const|Identity\w*|NoOp|ReadVariableOp|Reshape|ShapeN?|Squeeze|ExpandDims|_Arg"
        r"|_Retval|_Send|_Recv|PartitionedCall|StatefulPartitionedCall|VarHandleOp|StridedSlice)$",
        DISPATCH,
    ),
)
