"""Random small networks from the vocabulary, for Hypothesis.

Each layer is drawn for the output shape of the layer before. So hardly any draw is thrown away, and
shrinking ends at few layers, few pixels and small numbers.
"""

from hypothesis import assume
from hypothesis import strategies as st

from frameworks.workloads import Dataset, Workload
from frameworks.workloads.layers import (
    AveragePool,
    Conv2D,
    Dense,
    Flatten,
    GlobalAveragePool,
    Layer,
    MaxPool,
    ReLU,
    Shape,
    Sigmoid,
    Tanh,
)
from frameworks.workloads.optimisers import SGD, Adam, Momentum, RMSprop
from frameworks.workloads.residual import BatchNorm, Residual, Subsample
from frameworks.workloads.sequences import LSTM, Embedding
from frameworks.workloads.workload import LOSSES

DEPTH, WIDTH, WINDOW, STRIDE, PAD, PIXELS, CHANNELS, BATCH = 7, 5, 5, 3, 3, 11, 3, 5
STEPS = 4  # of a sequence


def up_to(most: int) -> st.SearchStrategy[int]:
    return st.integers(1, most)


ACTIVATIONS = st.sampled_from([ReLU(), Tanh(), Sigmoid()])
FLAT = st.sampled_from([Flatten(), GlobalAveragePool()])
PAIR = st.tuples(st.integers(0, PAD), st.integers(0, PAD))
PADS = st.integers(0, PAD) | st.tuples(PAIR, PAIR)
DENSE = st.builds(Dense, up_to(WIDTH))
RECURRENT = st.builds(LSTM, up_to(WIDTH))
EMBEDDING = st.builds(Embedding, up_to(WIDTH), up_to(WIDTH))
VECTORS = st.tuples(up_to(PIXELS))
IMAGES = st.tuples(up_to(PIXELS), up_to(PIXELS), up_to(CHANNELS))
SEQUENCES = st.tuples(up_to(STEPS), up_to(CHANNELS) | st.none())  # None: of words

BATCH_NORM = st.builds(
    BatchNorm,
    st.sampled_from([1e-5, 1e-3]),
    st.sampled_from([0.1, 0.3]),
    st.sampled_from([True, False]),
)
TRAINED = (Dense, Conv2D, BatchNorm, Residual, LSTM, Embedding)
SHIFTING = (BatchNorm, Residual)


def subsamples(channels: int) -> st.SearchStrategy[Subsample]:
    return st.builds(Subsample, up_to(STRIDE), st.integers(channels, channels + 2))


@st.composite
def residuals(draw: st.DrawFn, channels: int) -> Residual:
    """A residual block for images with this number of channels."""
    beside = draw(st.none() | subsamples(channels))
    filters, stride = (beside.channels, beside.stride) if beside else (channels, 1)
    body: list[Layer] = [Conv2D(filters, 3, stride, 1, draw(st.booleans()))]
    body += draw(st.lists(ACTIVATIONS | BATCH_NORM, max_size=2))
    convolved = Conv2D(filters, 1, stride, 0, draw(st.booleans()))
    shortcuts = st.sampled_from([beside, convolved]) if beside else st.none()
    shortcut = draw(shortcuts)
    return Residual(tuple(body), (shortcut,) if shortcut else ())


def layers(shape: Shape, words: bool) -> st.SearchStrategy[Layer]:
    """Any layer that takes this shape. Each word has its own label, so no layer flattens words."""
    if len(shape) == 1:
        return DENSE | ACTIVATIONS | st.just(Flatten()) | BATCH_NORM
    if len(shape) == 2:
        every = DENSE | ACTIVATIONS | RECURRENT
        return every if words else every | st.just(Flatten())
    fits = up_to(min(*shape[:2], WINDOW))
    steps = up_to(STRIDE)
    pools = st.none() | steps
    named = [
        st.builds(Conv2D, up_to(WIDTH), kernels, steps, st.just(padding))
        for padding, kernels in (("valid", fits), ("same", up_to(WINDOW)))
    ]
    convolutions = [*named, st.builds(Conv2D, up_to(WIDTH), fits, steps, PADS, st.booleans())]
    pooling = st.one_of(
        st.builds(kind, st.just(size), pools, st.integers(0, size // 2))
        for kind in (MaxPool, AveragePool)
        for size in range(1, min(*shape[:2], WINDOW) + 1)
    )
    others = (BATCH_NORM, residuals(shape[2]), subsamples(shape[2]))
    return st.one_of(*convolutions, ACTIVATIONS, pooling, FLAT, *others)


def decimals(*exponents: int) -> st.SearchStrategy[float]:
    """One digit and a power of ten, as people write learning rates: 3e-2."""
    number = st.builds("{}e{}".format, up_to(9), st.sampled_from(exponents))
    return number.map(float)


RATES = decimals(-2, -3, -1)
# An adaptive step moves every weight by the rate, RMSprop's first step by up to ten times the rate.
# A larger step saturates sigmoids, and no digit of 1 - sigmoid(x) is left to compare.
SLOW = decimals(-3, -4)
MOMENTA = st.integers(0, 99).map(lambda n: n / 100)
# Some kernels compute an average v of squares as v + (1 - decay) * (g^2 - v), rounded to the size
# of the old v: 1 / decay times worse than decay * v + (1 - decay) * g^2.
DECAYS = st.integers(50, 99).map(lambda n: n / 100)
EPSILONS = decimals(-8, -7, -4)

PLAIN = st.builds(SGD, RATES) | st.builds(Momentum, RATES, MOMENTA)
ADAPTIVE = st.one_of(
    st.builds(RMSprop, SLOW, DECAYS, EPSILONS),
    st.builds(Adam, SLOW, MOMENTA, DECAYS | st.just(0.999), EPSILONS),
)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    start = draw(st.one_of(VECTORS, IMAGES, IMAGES.map(tuple), SEQUENCES))
    words = start[-1] is None
    shape = start = start[:1] if words else start
    network: list[Layer] = []

    def add(choice: st.SearchStrategy[Layer]) -> None:
        nonlocal shape
        network.append(draw(choice))
        shape = network[-1].output_shape(shape)

    if words:
        add(EMBEDDING)
    while len(network) < DEPTH and draw(st.integers(0, 4)):
        add(layers(shape, words))
    if len(shape) == 3:
        add(FLAT)
    trained = [layer for layer in network if isinstance(layer, TRAINED)]
    if not trained:
        add(DENSE)
        trained = network[-1:]

    loss = "sparse_cross_entropy" if words else draw(st.sampled_from(LOSSES))
    classes = shape[-1] if loss == "sparse_cross_entropy" else None
    assume(classes is None or shape[-1] > 1)
    if words:
        classes = min(shape[-1], network[0].words)
    # One bias added to all logits changes no cross-entropy: its gradient is nothing but rounding,
    # and an adaptive optimiser magnifies that to the size of a step.
    last = trained[-1]
    # Nor does a batch normalisation of one channel, which is hard to see in a residual block.
    shifting = isinstance(last, Conv2D) and last.filters == 1
    only_rounding = classes and (shifting or any(isinstance(one, SHIFTING) for one in network))
    return Workload(
        name="random",
        dataset=Dataset("tokens" if words else "normal", 10_000, start, classes),
        # One value has no variance.
        batch=draw(st.integers(1 + any(isinstance(one, SHIFTING) for one in network), BATCH)),
        layers=tuple(network),
        loss=loss,
        optimiser=draw(PLAIN if only_rounding else PLAIN | ADAPTIVE),
    )
