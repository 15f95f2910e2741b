"""What defects are shown on: small workloads, which take milliseconds a step."""

from typing import Any

STEPS = 52  # one defect shows after the fiftieth only

IMAGES = {"kind": "normal", "samples": 6 * STEPS, "shape": [15, 14, 2], "classes": 4}
VECTORS = {"kind": "normal", "samples": 6 * STEPS, "shape": [8]}
PLAIN = {"kernel": 3, "padding": 1, "bias": False}
SAME = {"filters": 3, "kernel": 3, "padding": "same"}

# Between them: every kind of layer with weights, shortcuts with and without parameters, a square
# kernel, an image that is not square, padding that is not the same on both sides, words that occur
# more than once in a mini-batch, the optimisers with state, and a kernel of over 5,000 numbers.
WORKLOADS: dict[str, dict[str, Any]] = {
    "perceptron": {
        "dataset": VECTORS,
        "batch": 6,
        "layers": [{"dense": 8}, "relu", {"dense": 3}],
        "loss": "mean_squared_error",
        "optimiser": "adam",
    },
    "wide": {
        "dataset": {"kind": "normal", "samples": 32 * STEPS, "shape": [72]},
        "batch": 32,
        "layers": [{"dense": 80}, "relu", {"dense": 16}, "relu", {"dense": 3}],
        "loss": "mean_squared_error",
        "optimiser": "adam",
    },
    "images": {
        "dataset": IMAGES,
        "batch": 6,
        "layers": [
            {"conv2d": {**SAME, "stride": 2}}, "relu", {"average_pool": 2},
            {"conv2d": {**SAME, "filters": 4}}, "relu", "flatten", {"dense": 4},
        ],
        "loss": "sparse_cross_entropy",
        "optimiser": {"momentum": {"learning_rate": 0.01, "momentum": 0.9}},
    },
    "pooled": {
        "dataset": IMAGES,
        "batch": 6,
        "layers": [
            {"conv2d": SAME}, "relu", {"max_pool": 2}, "global_average_pool", {"dense": 4},
        ],
        "loss": "sparse_cross_entropy",
        "optimiser": "rmsprop",
    },
    "normalised": {
        "dataset": VECTORS,
        "batch": 6,
        "layers": [{"dense": 8}, "batch_norm", "relu", {"dense": 3}],
        "loss": "mean_squared_error",
        "optimiser": "sgd",
    },
    "residual": {
        "dataset": {"kind": "normal", "samples": 6 * STEPS, "shape": [8, 10, 3], "classes": 4},
        "batch": 6,
        "layers": [
            {"conv2d": {**PLAIN, "filters": 2}}, "batch_norm", "relu",
            {"residual": {
                "body": [
                    {"conv2d": {**PLAIN, "filters": 4, "stride": 2}}, "batch_norm", "relu",
                    {"conv2d": {**PLAIN, "filters": 4}}, "batch_norm",
                ],
                "shortcut": [{"subsample": {"stride": 2, "channels": 4}}],
            }},
            "relu",
            {"residual": {
                "body": [{"conv2d": {**PLAIN, "filters": 4}}, "batch_norm"],
                "shortcut": [{"conv2d": {"filters": 4, "kernel": 1, "bias": False}}, "batch_norm"],
            }},
            "relu", "global_average_pool", {"dense": 4},
        ],
        "loss": "sparse_cross_entropy",
        "optimiser": "sgd",
    },
    "words": {
        "dataset": {"kind": "tokens", "samples": 6 * STEPS, "shape": [5], "classes": 7},
        "batch": 6,
        "layers": [{"embedding": {"words": 7, "features": 4}}, {"lstm": 5}, {"dense": 7}],
        "loss": "sparse_cross_entropy",
        "optimiser": "sgd",
    },
}  # fmt: skip
