"""Flaws of the training, one class each."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from abacus import AbacusTrainer
from flawed_adapters import Flawed, adapter


@adapter
class AnotherLoss(AbacusTrainer):
    def loss(self):
        return 0.5 * super().loss()


class AnotherEpsilon(Flawed):
    def trainer(self, workload, weights, variant):
        super().trainer(workload, weights, variant)
        return AbacusTrainer(workload, weights, "wrong", self.conditions)


@adapter
class RefusesLate(AbacusTrainer):
    def step(self, batch):
        if self.optimiser.kind == "adam":
            raise NotImplementedError("no adam")
        super().step(batch)


class Crashes(Flawed):
    def trainer(self, workload, weights, variant):
        return super().trainer(workload, weights, variant if workload.optimiser.slots != 1 else 1)


class RefusesNamelessly(Flawed):
    def trainer(self, workload, weights, variant):
        try:
            return super().trainer(workload, weights, variant)
        except NotImplementedError:
            raise NotImplementedError("cannot do this") from None


class Behind(AbacusTrainer):
    """What is asked for is done when it is read, at the latest."""

    def __init__(self, *given):
        self.asked = []
        super().__init__(*given)

    def done(self):
        while self.asked:
            self.asked.pop(0)()

    def restart(self, weights):
        self.done()
        super().restart(weights)

    def loss(self):
        self.done()
        return super().loss()

    def weights(self):
        self.done()
        return super().weights()


@adapter
class NeverWaits(Behind):
    def __init__(self, *given):
        self.pool = ThreadPoolExecutor(1)
        super().__init__(*given)

    def step(self, batch):
        self.asked.append(self.pool.submit(super().step, batch).result)


@adapter
class OneStepBehind(Behind):
    def step(self, batch):
        self.done()
        self.asked.append(partial(super().step, batch))


@adapter
class OnAGpu(AbacusTrainer):
    def settings(self):
        return {**super().settings(), "device": "imaginary", "stated": "device"}


class BlocksOnItsGpu(OnAGpu):
    def __init__(self, conditions):
        self.conditions = conditions


@adapter
class ThreeThreads(AbacusTrainer):
    pool = ThreadPoolExecutor(3)

    def step(self, batch):
        super().step(batch)
        x = batch[0].reshape(len(batch[0]), -1)
        list(self.pool.map(lambda _: x @ x.T, range(12)))


@adapter
class ErrsLate(AbacusTrainer):
    def step(self, batch):
        super().step(batch)
        if self.steps > 13:
            self.last *= 1.01
