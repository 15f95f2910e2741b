"""The description of PyTorch."""

from frameworks import memory
from frameworks.contract import Cache, Framework, Variant
from frameworks.pytorch.profiling.operations import OPERATIONS

CACHES = (Cache("torch.compile's", "TORCHINDUCTOR_CACHE_DIR", otherwise="torchinductor_{user}"),)

FRAMEWORK = Framework(
    name="pytorch",
    title="PyTorch",
    distributions=("torch",),
    install="pip install -r frameworks/pytorch/requirements.txt",
    adapter="frameworks.pytorch.adapter:PyTorchAdapter",
    requirements="requirements.txt",
    operations=OPERATIONS,
    loader=True,
    variants={
        "default": Variant("eager, as in the tutorial: nn.Sequential and torch.optim"),
        "tuned": Variant(
            "eager; channels last, fused or foreach optimiser, freed memory kept",
            change="ReLU in place",
            compared_with="layout",
            variables=memory.KEPT,
        ),
        **memory.steps(),
        "fused": Variant(
            "pages; fused or foreach optimiser",
            change="fused optimiser",
            compared_with="pages",
            variables=memory.KEPT,
        ),
        "layout": Variant(
            "fused; channels last",
            change="channels last",
            compared_with="fused",
            variables=memory.KEPT,
        ),
        "compile": Variant(
            "default, torch.compile; needs a C++ compiler", rebuilds=False, caches=CACHES
        ),
        "two-workers": Variant(
            "default, DistributedDataParallel over gloo: two processes of one thread share each "
            "mini-batch",
            rebuilds=False,
            variables={"GLOO_SOCKET_IFNAME": "lo"},
        ),
        "bfloat16": Variant(
            "default, forward pass and loss under torch.autocast in bfloat16", reduced="bfloat16"
        ),
        "tf32": Variant("default, TF32 allowed in products and convolutions", reduced="tf32"),
        "part-forward": Variant(
            "the loss of default, recorded for a backward pass as in training, not as in "
            "inference; nothing else",
            part="forward",
        ),
        "part-gradient": Variant(
            "loss, zero_grad and backward of default; no update", part="gradient"
        ),
        "trap-weights": Variant(
            "default, from weights that PyTorch draws", pitfall="PyTorch's own initial weights"
        ),
        "trap-input-gradients": Variant(
            "default, on inputs that require a gradient", pitfall="gradients of the input computed"
        ),
        "trap-pooled-first": Variant(
            "default, each ReLU behind the max-pooling", pitfall="ReLU after the pooling"
        ),
        "trap-summed-loss": Variant(
            "default, reduction='sum'", pitfall="loss summed, not averaged"
        ),
        "trap-double-softmax": Variant(
            "default, softmax before CrossEntropyLoss", pitfall="softmax before the loss, too"
        ),
        "trap-two-biases": Variant(
            "default, both biases of nn.LSTM trained", pitfall="two biases trained in an LSTM"
        ),
        "trap-denormals": Variant(
            "default, torch.set_flush_denormal(True)", pitfall="denormals flushed"
        ),
        "trap-tf32": Variant("default, cudnn.allow_tf32", pitfall="PyTorch's own TF32 settings"),
        "trap-autotune": Variant("default, cudnn.benchmark", pitfall="cuDNN autotune on"),
        "trap-unsynchronised": Variant("default, never waited for", pitfall="no synchronise"),
        "trap-unread": Variant(
            "default, never waited for, no loss read before the end of a turn",
            pitfall="no synchronise, no loss read",
            unread=True,
        ),
        "trap-compiled": Variant(
            "default, torch.compile",
            rebuilds=False,
            pitfall="compiled (torch.compile)",
            caches=CACHES,
        ),
    },
)
