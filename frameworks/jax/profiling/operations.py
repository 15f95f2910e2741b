"""JAX's operations by what they do: an instruction of the compiled step is `what function > users`
here (profiler.py).

Everything outside the function of loss and gradients (`jvp`) is the optimiser. XLA gives a fusion
the name of its last operation, so that what is fused with it counts as that. Of a convolution's two
gradients, only the optimiser uses that of the weights. XLA makes several instructions without a
function out of a `select_and_scatter`, and nothing else uses them. In `tuned`, max-pooling by
slices consists of element-wise operations, and a convolution of patches is a matrix product.
"""

from frameworks.operations import (
    BACKWARD,
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
    (r"^(while|call|conditional) ", DISPATCH),
    (r"^dot |^\S+ \S*jvp\S*/dot_general", PRODUCT),
    (r"^convolution (-|\S*jvp\S*) > (?!.*jvp)jit", WEIGHTS),
    (r"^convolution \S*transpose\(jvp\S* > .*transpose\(jvp", DATA),
    (r"^\S+ \S*transpose\(jvp\S*/conv_general_dilated", BACKWARD),
    (r"^\S+ \S*jvp\S*/conv_general_dilated", FORWARD),
    (r"^\S+ \S*jvp\S*/(reduce_window\w*|select_and_scatter\w*)", POOLING),
    (r"^\S+ - > \S*/select_and_scatter\w*$", POOLING),
    (r"^(copy|transpose)( |$)", COPIES),
    (r"^\S+ jit\(update\)/(?!\S*jvp)", OPTIMISER),
    (
        r"^\S+ \S*jvp\S*/(max|add|sub|mul|div|neg|exp|log|sqrt|rsqrt|square|integer_pow|tanh"
        r"|logistic|select_n|reduce_\w+|scatter-add|gather|broadcast_in_dim|convert_element_type"
        r"|concatenate|pad|slice)\b",
        ELEMENTWISE,
    ),
)
