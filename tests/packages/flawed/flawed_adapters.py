"""Flaws of adapters, weights and mini-batches, one class each."""

from dataclasses import replace

import numpy as np
from abacus import AbacusAdapter, AbacusTrainer

from frameworks.contract import Unavailable

RANDOM = np.random.default_rng()


class Flawed(AbacusAdapter):
    kind = AbacusTrainer

    def trainer(self, workload, weights, variant):
        if variant != "default":
            raise KeyError(variant)
        return self.kind(workload, weights, variant, self.conditions)


def adapter(kind):
    return type(kind.__name__, (Flawed,), {"kind": kind})


class Float32Only(Flawed):
    def __init__(self, conditions):
        if conditions.precision == "float64":
            raise Unavailable("an old abacus has no float64")
        super().__init__(conditions)


class Builds(Flawed):
    def trainer(self, workload, weights, variant):
        raise NotImplementedError("no dense layers, nor others")


@adapter
class SinglePrecision(AbacusTrainer):
    def __init__(self, workload, weights, variant, conditions):
        self.asked = conditions.precision
        super().__init__(workload, weights, variant, replace(conditions, precision="float32"))

    def weights(self):
        return {name: w.astype(self.asked) for name, w in super().weights().items()}


class AnyVariant(Flawed):
    def trainer(self, workload, weights, variant):
        return super().trainer(workload, weights, "default")


class AnyDevice(Flawed):
    def __init__(self, conditions):
        self.conditions = conditions


@adapter
class FewSettings(AbacusTrainer):
    def settings(self):
        return {"precision": str(self.parameters["dense1.kernel"].dtype)}


@adapter
class GivesItsOwnWeights(AbacusTrainer):
    def weights(self):
        return dict(self.parameters)


@adapter
class KeepsTheBatch(AbacusTrainer):
    def put(self, inputs, targets):
        precision = self.conditions.precision
        return inputs.astype(precision, copy=False), targets.astype(precision, copy=False)


@adapter
class DrawsNumbers(AbacusTrainer):
    def step(self, batch):
        super().step(batch)
        if self.steps > 2:
            self.last *= 1 + 10 * RANDOM.random()


@adapter
class RestartsTheWeightsOnly(AbacusTrainer):
    def restart(self, weights):
        if hasattr(self, "parameters"):
            self.parameters = {n: w.astype(self.conditions.precision) for n, w in weights.items()}
        else:
            super().restart(weights)


@adapter
class RestartsNearly(AbacusTrainer):
    """A weight has another last bit after a restart."""

    def restart(self, weights):
        again = hasattr(self, "parameters")
        super().restart(weights)
        if again:
            first = next(iter(self.parameters.values())).reshape(-1)
            first[0] = np.nextafter(first[0], np.inf, dtype=first.dtype)


@adapter
class SharesWeights(AbacusTrainer):
    def restart(self, weights):
        super().restart(weights)
        type(self).shared = self.__dict__.pop("parameters")

    def __getattr__(self, name):
        if name == "parameters":
            return type(self).shared
        raise AttributeError(name)


@adapter
class SharesMoments(AbacusTrainer):
    """The optimiser's state is the class's from the second step on."""

    def update(self, name, gradient):
        super().update(name, gradient)
        if self.optimiser.kind == "adam" and self.steps == 1:
            shared = vars(type(self)).get("moments", {})
            type(self).moments = {**shared, name: (self.m[name], self.v[name])}
        elif self.optimiser.kind == "adam":
            self.m[name], self.v[name] = type(self).moments[name]


EVERY = []


class KeepsTrainers(Flawed):
    def trainer(self, workload, weights, variant):
        EVERY.append(super().trainer(workload, weights, variant))
        return EVERY[-1]
