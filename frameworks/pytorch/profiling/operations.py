"""PyTorch's operations by what they do: names of torch.profiler, each behind the annotation that it
runs in (`Optimizer.step#Adam.step aten::div`).

`aten::convolution_backward` computes both gradients, and the profiler does not see which. What
calls other operations has only the time between them, which is dispatch.
"""

from frameworks.operations import (
    BACKWARD,
    COPIES,
    DISPATCH,
    ELEMENTWISE,
    FORWARD,
    OPTIMISER,
    POOLING,
    PRODUCT,
    Table,
)

OPERATIONS: Table = (
    (r"^Optimizer\.", OPTIMISER),
    (r"aten::(addmm|mm|bmm|baddbmm|addmv|mv|mkldnn_linear\w*)$", PRODUCT),
    (r"aten::(mkldnn_|thnn_|slow_|_slow_)conv\w*$", FORWARD),
    (r"aten::(convolution|mkldnn_convolution|_slow_conv2d)_backward\w*$", BACKWARD),
    (r"aten::\w*(max|avg)_pool\w*$", POOLING),
    (
        r"aten::(relu_?|clamp_min_?|threshold_backward|tanh\w*|sigmoid\w*|add_?|sub_?|mul_?|div_?"
        r"|neg|sum|mean|\w*log_softmax\w*|\w*nll_loss\w*|\w*mse_loss\w*|\w*batch_norm\w*|cat|stack)$",
        ELEMENTWISE,
    ),
    (r"aten::(copy_|clone|contiguous|fill_|zero_|to|_to_copy)$", COPIES),
    (
        r"autograd::|Backward\d*$|aten::(linear|t|transpose|as_strided_?|view|\w*reshape\w*|detach"
        r"|empty\w*|zeros\w*|ones\w*|conv2d|_?convolution|permute|flatten|expand|select|unsqueeze"
        r"|cross_entropy_loss|resize_|item|_local_scalar_dense|result_type|is_\w+)$|^detach$",
        DISPATCH,
    ),
)
