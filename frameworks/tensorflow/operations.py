"""TensorFlow's operations by what they do: a kernel is `name:type` in its profiler.

Keras names its optimiser's operations after it (`adam/Mul_3:Mul`). oneDNN's kernels have a prefix
and may have a bias and a ReLU in them.
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
    (r"(^|/)(adam|sgd|rmsprop)(_\d+)?/|:ResourceApply\w+$", OPTIMISER),
    (r":(_Mkl)?(Native)?_?(Fused)?(Batch)?MatMul(V2|V3)?$", PRODUCT),
    (r":\w*Conv2DBackpropInput\w*$", DATA),
    (r":\w*Conv2DBackpropFilter\w*$", WEIGHTS),
    (r":\w*Conv2D\w*$", FORWARD),
    (r":\w*(Max|Avg)Pool\w*$", POOLING),
    (
        r":(_Mkl)?(Native)?_?(Relu\w*|BiasAdd\w*|Tanh\w*|Sigmoid\w*|AddV?2?|AddN|Sub|Mul|RealDiv|DivNoNan"
        r"|Square\w*|Sqrt|Rsqrt|Neg|Sum|Mean|\w*Softmax\w*|\w*CrossEntropy\w*|Select\w*|Maximum"
        r"|Greater\w*|Pow|FusedBatchNorm\w*)$",
        ELEMENTWISE,
    ),
    (r":(Transpose|Copy\w*|Cast|Fill|ZerosLike|ConcatV2|Pack|Unpack|Split|Pad|Tile)$", COPIES),
    (
        r":(Const|Identity\w*|NoOp|ReadVariableOp|Reshape|Shape|Squeeze|ExpandDims|_Arg|_Retval"
        r"|_Send|_Recv|PartitionedCall|StatefulPartitionedCall|VarHandleOp|StridedSlice)$",
        DISPATCH,
    ),
)
