"""The published optimisers in optax. RMSprop needs an argument to keep epsilon outside the root."""

import dataclasses

import optax

from frameworks.contract import Setting
from frameworks.workloads.optimisers import SGD, Adam, Momentum, Optimiser, RMSprop


def build(optimiser: Optimiser) -> optax.GradientTransformationExtraArgs:
    match optimiser:
        case SGD(rate):
            return optax.sgd(rate)
        case Momentum(rate, momentum):
            return optax.sgd(rate, momentum=momentum)
        case RMSprop(rate, decay, epsilon):
            return optax.rmsprop(rate, decay=decay, eps=epsilon, eps_in_sqrt=False)
        case Adam(rate, beta1, beta2, epsilon):
            return optax.adam(rate, b1=beta1, b2=beta2, eps=epsilon)
    raise NotImplementedError(f"JAX adapter: no optimiser of kind {optimiser.kind!r}")


NAMES = {"sgd": "optax.sgd", "momentum": "optax.sgd(momentum)", "rmsprop": "optax.rmsprop",
         "adam": "optax.adam"}  # fmt: skip


def settings(optimiser: Optimiser) -> dict[str, Setting]:
    """The implementation, and the numbers given to it: optax keeps them in closures, so that they
    are stated, and the probes show them in effect."""
    numbers = dataclasses.asdict(optimiser)
    stated = ", ".join(["optimiser", *numbers])
    return {"optimiser": NAMES[optimiser.kind], **numbers, "stated": stated}
