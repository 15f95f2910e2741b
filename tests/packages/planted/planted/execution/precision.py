"""Another precision than was asked for, sometimes in float32 only, which float64 does not show."""

from planted.registry import defect, replaced, shows


def rounding_products(trainer, rounded, dtype):
    """Round both factors of every matrix product and convolution in this type."""
    import torch
    from torch.nn import functional

    def forward_of(module):
        dense = isinstance(module, torch.nn.Linear)
        product = functional.linear if dense else module._conv_forward

        def forward(inputs):
            weight = module.weight
            if inputs.dtype == dtype:
                inputs, weight = rounded(inputs), rounded(weight)
            return product(inputs, weight, module.bias)

        return forward

    kinds = torch.nn.Linear | torch.nn.Conv2d
    replaced((one for one in trainer._network.modules() if isinstance(one, kinds)), forward_of)


def tf32(values):
    """Rounded to ten bits of mantissa; the gradient passes as it is."""
    import torch

    bits = values.detach().view(torch.int32)
    return values + (((bits + 0x1000) & ~0x1FFF).view(torch.float32) - values).detach()


@defect("images", "loss", r"weights\(\) gives float32")
def float32_throughout(trainer):
    """float32 where float64 was asked for"""
    import torch

    trainer._network.float()
    trainer._dtype = trainer._input_dtype = torch.float32
    if trainer._target_dtype == torch.float64:
        trainer._target_dtype = torch.float32


@shows("mlp", weights_kept="finer than float32")
@defect("images", "setting", "precision: float64")
def float64_throughout(trainer):
    """float64 where float32 was asked for, and weights() that rounds"""
    import torch

    if trainer._dtype == torch.float32:
        trainer._network.double()
        trainer._dtype = trainer._input_dtype = torch.float64
        if trainer._target_dtype == torch.float32:
            trainer._target_dtype = torch.float64
        canonical = trainer._network.canonical
        trainer._network.canonical = lambda: {
            name: weight.astype("float32") for name, weight in canonical().items()
        }


@defect("images", "loss", "those of float32 arithmetic")
def float32_products(trainer):
    """Weights in float64, matrix products and convolutions of float32 numbers"""
    import torch

    rounding_products(trainer, lambda values: values.float().double(), torch.float64)


@defect("perceptron", "weights", "the update is not, first at step 2")
def state_in_float32(trainer):
    """The optimiser keeps its averages in float32"""

    def cut(optimiser, *rest):
        for state in optimiser.state.values():
            for name in ("exp_avg", "exp_avg_sq"):
                if name in state:
                    state[name].copy_(state[name].float())

    trainer._optimiser.register_step_post_hook(cut)


@shows("mnist-cnn", dense_products="tf32", convolution_products="tf32", weights_kept="float32")
@defect("images", "rounding", "TF32")
def tf32_products(trainer):
    """TF32: products in float32 of numbers with ten bits of mantissa; float64 as it should be"""
    import torch

    rounding_products(trainer, tf32, torch.float32)


@shows("mnist-cnn", dense_products="bfloat16", convolution_products="bfloat16")
@defect("images", "rounding", "bfloat16")
def bfloat16_products(trainer):
    """Products in float32 of numbers rounded to bfloat16; float64 as it should be"""
    import torch

    rounding_products(trainer, lambda values: values.bfloat16().float(), torch.float32)


@defect("images", "rounding", "float16")
def float16_gradients(trainer):
    """Gradients of a float32 run go through float16"""
    import torch

    def cut(*rest):
        for weight in trainer._network.parameters():
            if weight.dtype == torch.float32:
                weight.grad = weight.grad.half().float()

    trainer._optimiser.register_step_pre_hook(cut)
