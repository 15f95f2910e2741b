"""PyTorch, seen from outside."""

from frameworks.contract import Framework, Variant

FRAMEWORK = Framework(
    name="pytorch",
    title="PyTorch",
    distributions=("torch",),
    install="pip install -r frameworks/pytorch/requirements.txt",
    adapter="frameworks.pytorch.adapter:PyTorchAdapter",
    variants={
        "default": Variant("eager, as in the tutorial: nn.Sequential and torch.optim"),
        "tuned": Variant("eager; channels last, fused or foreach optimiser, freed memory kept"),
    },
)
