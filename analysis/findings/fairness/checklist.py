"""The fairness checklist: what may differ between frameworks, and what a difference means.

Settings decide each item. Adapters read them back from their frameworks (`SETTINGS` in
frameworks/contract.py), or the harness determines them by a probe (workflows/worker/probes).
"""

import math
from dataclasses import dataclass
from typing import Literal

ROUNDED = 1e-6  # relative; a framework that keeps 0.9 in float32 answers 0.8999999761581421
PROBED = 2e-3  # relative; probes answer with four digits


@dataclass(frozen=True)
class Item:
    """One item: something that may differ between contenders.

    `settings` decide whether it differs; numbers within `tolerance` count as equal. `rule`:
    `matched` must be the same. `own` may differ between frameworks, for the `reason` given; so may
    any item with more than its number of `threads`. If a certificate declares a deviation of
    `component`, the difference is declared, too: the certificate has shown that it is that
    deviation and nothing else. Records may lack all settings of a `new` item. `computes`: an
    undeclared difference changes what is computed, so the pair gets no ratio.
    """

    title: str
    settings: tuple[str, ...]
    question: str
    rule: Literal["matched", "own"] = "matched"
    reason: str = "part of what is compared"
    tolerance: float = ROUNDED
    threads: float = math.inf
    component: str = ""
    new: bool = False
    computes: bool = False


CHECKLIST = (
    Item(
        "numbers of the optimiser",
        ("learning_rate", "momentum", "decay", "beta1", "beta2", "epsilon"),
        "Defaults differ tenfold and more: a learning rate of 0.001 or 0.01, an epsilon of 1e-8 "
        "or 1e-7.",
        component="optimiser",
        computes=True,
    ),
    Item(
        "first update",
        ("effective_rate",),
        "The update of a weight whose gradient is 1 shows the learning rate in effect.",
        tolerance=PROBED,
        component="optimiser",
        computes=True,
    ),
    Item(
        "second update",
        ("second_update",),
        "In units of the first, it shows momentum, decay and bias correction.",
        tolerance=PROBED,
        component="optimiser",
        computes=True,
    ),
    Item(
        "optimiser's epsilon",
        ("effective_epsilon", "epsilon_place"),
        "The same number in another place is another epsilon: it then matters for "
        "gradients up to 10,000 times larger.",
        tolerance=PROBED,
        component="optimiser",
        computes=True,
    ),
    Item(
        "weight decay",
        ("weight_decay",),
        "It shrinks the weights in every step.",
        tolerance=PROBED,
        computes=True,
    ),
    Item(
        "restart",
        ("restart",),
        "An optimiser that remembers its last run begins the next one elsewhere.",
        computes=True,
    ),
    Item(
        "implementation of the optimiser",
        ("optimiser",),
        "A loop takes up to twice as long as a fused kernel if memory limits the step.",
        rule="own",
        reason="part of what is compared; the formula is a row of its own",
    ),
    Item(
        "initial weights",
        ("initial_weights",),
        "Frameworks draw them from other distributions, with or without biases.",
        computes=True,
    ),
    Item(
        "loss",
        ("loss_reduction", "loss_of", "labels"),
        "Mean or sum, of logits or of probabilities (a double softmax), of labels from 0 or 1.",
        computes=True,
    ),
    Item(
        "moment of the loss",
        ("loss_taken",),
        "A loss read after the update is that of other weights.",
        computes=True,
    ),
    Item(
        "gradients",
        ("gradients",),
        "Gradients that nobody set to zero add up from step to step.",
        computes=True,
    ),
    Item(
        "gradient of the input",
        ("input_gradient",),
        "Training does not need it; in the first layer it costs as much as the forward pass.",
        computes=True,
    ),
    Item(
        "mode",
        ("mode",),
        "Training must not be timed against inference. Batch normalisation depends on the mode.",
        computes=True,
    ),
    Item(
        "batch normalisation",
        ("batch_norm_statistics", "batch_norm_epsilon", "batch_norm_momentum"),
        "Defaults differ: an epsilon of 1e-5 or 1e-3, a momentum of 0.1 or 0.01. Inference takes "
        "running averages for the statistics of the mini-batch.",
        tolerance=PROBED,
        new=True,
        computes=True,
    ),
    Item(
        "running variance",
        ("batch_norm_variance",),
        "An average of unbiased or of biased variances. Training does not use it.",
        component="state",
        new=True,
    ),
    Item(
        "LSTM",
        (
            "lstm_gates",
            "lstm_activation",
            "lstm_forget_bias",
            "lstm_biases",
            "lstm_state",
            "loss_over_time",
        ),
        "Gates in another order or of another function, 1 added to the forget gate, two biases "
        "that are trained, whose sum moves twice as fast, a state that goes on from one "
        "mini-batch to the next, and a loss that is a sum over steps.",
        new=True,
        computes=True,
    ),
    Item("ReLU and pooling", ("relu_and_pool",), "The order changes the cost, not the values."),
    Item(
        "SAME padding with stride 2",
        ("same_padding",),
        "Zeros on both sides give other outputs than at two sides. Checked with a unit impulse.",
        computes=True,
    ),
    Item(
        "precision of weights",
        ("precision", "weights_kept"),
        "The type in which weights are stored and updated.",
        computes=True,
    ),
    Item(
        "reduced products",
        ("tf32_matmul", "tf32_convolution", "dense_products", "convolution_products"),
        "TF32 keeps 10 bits of a product's factors, on for convolutions in one framework and for "
        "all in another. Checked by flag and by a product that TF32 would round.",
        component="precision",
        computes=True,
    ),
    Item(
        "denormals on the processor",
        ("denormals",),
        "Numbers below 1e-38, if kept, can slow a step down.",
        rule="own",
    ),
    Item("threads", ("intra_threads", "inter_threads"), "As configured in the framework."),
    Item(
        "threads at work",
        ("computing_threads",),
        "Counted: threads that did a fair share of the busiest one's work.",
        reason="frameworks divide work differently among many threads",
        threads=2,
    ),
    Item("device", ("device",), "Where the weights are."),
    Item(
        "arrays of the caller",
        ("put",),
        "Not copying a mini-batch saves time, but it changes when the harness fills the array "
        "again.",
    ),
    Item(
        "layout of images",
        ("layout",),
        "Channels first (NCHW) or last (NHWC) decides which kernels run.",
        rule="own",
        reason="part of what is compared; a conversion in put counts as transfer",
    ),
    Item(
        "compilation",
        ("compilation",),
        "Eager steps run one operation at a time; traced and compiled steps are optimised first.",
        rule="own",
    ),
    Item(
        "debug modes",
        ("debugging",),
        "Modes that check or trace what runs slow it down, and change no number.",
        new=True,
    ),
    Item(
        "cuDNN autotune",
        ("cudnn_autotune",),
        "Trying out algorithms makes the first step slow and the others fast.",
        rule="own",
        reason="part of what is compared; first steps are reported separately",
    ),
    Item(
        "libraries on the processor",
        ("onednn", "blas"),
        "The library that multiplies and convolves decides most of the time.",
        rule="own",
        reason="part of what is compared; what rounding amounts to is in the certificate",
    ),
    Item(
        "freed memory",
        ("freed_memory",),
        "Memory returned to the system costs page faults in every step.",
        rule="own",
    ),
    Item(
        "huge pages",
        ("huge_pages",),
        "Arrays in pages of 2 MB instead of 4 kB cost fewer page faults and address look-ups.",
        rule="own",
    ),
    Item(
        "memory of the weights",
        ("weights_memory",),
        "New memory for all weights in every step costs page faults; weights written over the old "
        "ones cost none.",
        rule="own",
    ),
    Item(
        "max-pooling",
        ("max_pooling",),
        "One operation, or slices and an index: the values are the same, the time is not.",
        rule="own",
        reason="part of what is compared; the certificate has the gradients",
    ),
    Item(
        "GPU memory",
        ("gpu_memory",),
        "A framework takes it as needed, or nearly all at once.",
        rule="own",
    ),
)

# What the harness does in the same way for every framework, and how.
HANDLED = {
    "asynchrony": "each part of a mini-batch ends with the device's own synchronise",
    "what fetching the loss waits for": "the clock stops after synchronise, and the loss is "
    "fetched after that",
    "first step vs steady": "the first mini-batches of a process and of each turn are kept "
    "as warm-up, out of the times compared",
    "last short batch": "dropped when the mini-batches are drawn, for everybody",
    "shuffling": "one order, drawn once, stored, and given to all",
}

BY_SETTING = {setting: item for item in CHECKLIST for setting in item.settings}
