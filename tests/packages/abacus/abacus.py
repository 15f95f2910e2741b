"""Another package's framework in one file: multilayer perceptrons in NumPy.

samestep finds it by its entry point alone. Its variant `default` is right. The others go wrong in
the ways that a study must survive.
"""

import os
import signal
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Event

import numpy as np

from frameworks import contract
from frameworks.contract import Deviation, Framework, Unavailable, Variant
from frameworks.elementwise import ElementwiseTrainer


def deviates(summary, reason, within, mistake=""):
    return Variant(summary, deviations=(Deviation("optimiser.adam", reason, within, mistake),))


FRAMEWORK = Framework(
    name="abacus",
    title="Abacus",
    distributions=("abacus",),
    install="comes with the tests",
    adapter="abacus:AbacusAdapter",
    operations=(("beads", "matrix product"),),
    loader=True,
    variants={
        "default": Variant("plain NumPy"),
        "kept": Variant("plain NumPy, restored at each turn, not rebuilt", rebuilds=False),
        "slow": Variant("each step takes a little longer"),
        "raises": Variant("the third step raises an exception"),
        "killed": Variant("the third step ends the process, as the kernel does without memory"),
        "hangs": Variant("the third step never returns"),
        "delicate": Variant("right, and dies when it is probed"),
        "wrong": Variant("another epsilon, undeclared"),
        "rounded": deviates(
            "Adam's first beta in float32", "beta1 is rounded to float32", 1e-3, "beta1-in-float32"
        ),
        "unnamed": deviates("the same, and the mistake is not named", "as it is", 1e-3),
        "strays": deviates("and a schedule beside it", "as it is", 1e-3, "beta1-in-float32"),
        "relaxed": deviates("and less while unwatched", "as it is", 1e-3, "beta1-in-float32"),
        "mislabelled": deviates("the same, misnamed", "as Keras has it", 1e-3, "adam-of-keras"),
        "decays": Variant("a weak weight decay, undeclared"),
        "uphill": Variant("goes up the gradient"),
        "uncounted": Variant("Adam's step count stays at 1"),
        "understated": deviates("epsilon, declared far too small", "epsilon is 1e-4", 1e-9),
        "unwatched": Variant("trains less in float32 while nobody reads its weights"),
        "trap-epsilon": Variant("another epsilon", pitfall="a larger epsilon"),
        "trap-lazy": Variant("works when it is read", pitfall="work that is put off"),
        "trap-pooling": Variant("about images only", pitfall="pooling the wrong way"),
        "part-forward": Variant("the loss alone", part="forward"),
        "part-gradient": Variant("loss and gradients", part="gradient"),
        "part-skipping": Variant("the loss without a ReLU", part="forward"),
        "part-updating": Variant("an update, too", part="gradient"),
        "part-late": Variant("an update from the second step on", part="gradient"),
        "part-doubled": Variant("one gradient is doubled", part="gradient"),
        "part-silent": Variant("keeps its gradients to itself", part="gradient"),
        "part-drifting": Variant("in float32 a weight moves a little", part="forward"),
        "bfloat16": Variant("products of rounded factors", reduced="bfloat16"),
        "bfloat16-not": Variant("rounds nothing", reduced="bfloat16"),
        "bfloat16-frozen": Variant("as timed, a layer is never updated", reduced="bfloat16"),
        "bfloat16-uncorrected": Variant("as timed, Adam's bias stays", reduced="bfloat16"),
        "bfloat16-drifting": Variant("as timed, later losses are too large", reduced="bfloat16"),
        "bfloat16-raises": Variant("and the third step raises", reduced="bfloat16"),
        "bfloat16-killed": Variant("and the third step ends the process", reduced="bfloat16"),
    },
)

CAN = {"dense", "relu", "mean_squared_error", "sgd", "adam"}
EPSILONS = {"wrong": 1e-7, "trap-epsilon": 1e-5, "understated": 1e-4}
FORWARD = ("part-forward", "part-skipping", "part-drifting")
GRADIENT = ("part-gradient", "part-doubled", "part-silent")


class AbacusAdapter(contract.Adapter):
    def __init__(self, conditions):
        if conditions.device == "gpu":
            raise Unavailable("an abacus has no GPU")
        self.conditions = conditions

    def trainer(self, workload, weights, variant):
        if variant not in FRAMEWORK.variants:
            raise KeyError(variant)
        if workload.elementwise:
            return AbacusOperation(workload, weights, variant, self.conditions)
        return AbacusTrainer(workload, weights, variant, self.conditions)

    def loader(self, prepare, workers):
        pool = ThreadPoolExecutor(workers)

        def begun(numbers):
            """The first mini-batches are begun at once, and one more whenever one is given."""
            waiting = (pool.submit(prepare, number) for number in numbers)
            return waiting, deque(islice(waiting, contract.AHEAD * workers))

        def given(waiting, ahead):
            while ahead:
                found = ahead.popleft().result()
                ahead.extend(islice(waiting, 1))
                yield found

        return lambda numbers: given(*begun(numbers))


class AbacusOperation(ElementwiseTrainer):
    """Division: `wrong` by a rounded reciprocal, `rounded` with another checksum, and `unwatched`
    in no more steps than a certificate compares."""

    operations = {"divide": np.divide}  # noqa: RUF012

    def __init__(self, workload, weights, variant, conditions):
        super().__init__(workload, weights, conditions, "default")
        self.variant, self.steps = variant, 0
        if variant == "wrong":
            self._operation = lambda x, y: x * (1 / y)

    def step(self, batch):
        self.steps += 1
        if self.variant != "unwatched" or self.steps <= 3:
            super().step(batch)

    def put(self, inputs, targets):
        return inputs.copy(), targets.copy()

    def synchronise(self):
        pass

    def on_host(self, result):
        return result

    def loss(self):
        return super().loss() * (1 + 1e-9 * (self.variant == "rounded"))

    def settings(self):
        return {**dict.fromkeys(contract.SETTINGS, "n/a"), "precision": str(self._given.dtype)}


class AbacusTrainer(contract.Trainer):
    def __init__(self, workload, weights, variant, conditions):
        kinds = [stage.layer.kind for stage in workload.stages]
        layers = kinds[kinds[0] == "flatten" :]  # which it can at the beginning alone
        if lacking := {*layers, workload.loss, workload.optimiser.kind} - CAN:
            raise NotImplementedError(f"an abacus has no {', '.join(sorted(lacking))}")
        if variant == "delicate" and workload.name == "probe":
            os.kill(os.getpid(), signal.SIGKILL)
        if variant == "trap-pooling":
            raise Unavailable(f"does not apply to {workload.name}: nothing is pooled")
        self.kinds, self.variant, self.conditions = kinds, variant, conditions
        self.optimiser, self.watched = workload.optimiser, False
        self.reduced = variant if conditions.precision == "float32" else ""
        self.restart(weights)

    def restart(self, weights):
        self.parameters = {n: w.astype(self.conditions.precision) for n, w in weights.items()}
        self.m = {name: np.zeros_like(value) for name, value in self.parameters.items()}
        self.v = {name: np.zeros_like(value) for name, value in self.parameters.items()}
        self.steps, self.left = 0, []

    def put(self, inputs, targets):
        return inputs.astype(self.conditions.precision), targets.astype(self.conditions.precision)

    def step(self, batch):
        self.left.append(batch)
        if self.variant != "trap-lazy":
            self.work()

    def work(self):
        while self.left:
            self.train(self.left.pop(0))

    def train(self, batch):
        self.steps += 1
        if self.steps == 3:
            self.misbehave()
        if self.variant == "slow":
            Event().wait(0.002)
        x, y = batch
        inputs, dense = [], 0
        for kind in self.kinds:
            inputs.append(x)
            if kind == "dense":
                dense += 1
                x = self.rounded(x) @ self.rounded(self.parameters[f"dense{dense}.kernel"])
                x = x + self.parameters[f"dense{dense}.bias"]
            elif kind == "flatten":
                x = x.reshape(len(x), -1)
            elif self.variant != "part-skipping":
                x = np.maximum(x, 0)
        self.last = np.mean((x - y) ** 2)
        if self.reduced == "bfloat16-drifting" and self.steps > 1:
            self.last *= 1.4
        if self.variant in FORWARD:
            if self.variant == "part-drifting" and self.conditions.precision == "float32":
                self.parameters["dense1.kernel"] *= np.float32(1 + 1e-6)
            return
        upstream, gradients = 2 * (x - y) / x.size, {}
        for kind, x in zip(reversed(self.kinds), reversed(inputs), strict=True):
            if kind == "dense":
                gradients[f"dense{dense}.kernel"] = self.rounded(x).T @ self.rounded(upstream)
                gradients[f"dense{dense}.bias"] = upstream.sum(0)
                kernel = self.rounded(self.parameters[f"dense{dense}.kernel"])
                upstream = self.rounded(upstream) @ kernel.T
                dense -= 1
            elif kind == "relu":
                upstream = upstream * (x > 0)
        if self.variant == "part-doubled":
            gradients["dense1.bias"] *= 2
        self.found = gradients
        if self.variant in GRADIENT or (self.variant == "part-late" and self.steps == 1):
            return
        for name, gradient in gradients.items():
            self.update(name, gradient)

    def misbehave(self):
        fault = self.variant.removeprefix("bfloat16-")
        if fault == "raises":
            raise MemoryError("no beads left")
        if fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "hangs":
            Event().wait(3600)

    def update(self, name, gradient):
        o = self.optimiser
        if self.variant == "decays":
            gradient = gradient + 1e-4 * self.parameters[name]
        if self.variant == "uphill":
            gradient = -gradient
        if self.idle and name == "dense1.kernel":
            return
        if o.kind == "sgd":
            self.parameters[name] -= o.learning_rate * gradient
            return
        epsilon = EPSILONS.get(self.variant, o.epsilon)
        rounded = self.variant in ("rounded", "unnamed", "strays", "relaxed", "mislabelled")
        rate = o.learning_rate * (0.999 if self.variant == "strays" and self.steps > 20 else 1)
        beta1 = float(np.float32(o.beta1)) if rounded else o.beta1
        m, v = self.m[name], self.v[name]
        m[:] = beta1 * m + (1 - beta1) * gradient
        v[:] = o.beta2 * v + (1 - o.beta2) * gradient**2
        steps = 10**6 if self.reduced == "bfloat16-uncorrected" else self.steps
        steps = 1 if self.variant == "uncounted" else steps
        m_hat, v_hat = m / (1 - beta1**steps), v / (1 - o.beta2**steps)
        self.parameters[name] -= rate * m_hat / (np.sqrt(v_hat) + epsilon)

    @property
    def idle(self):
        exact = self.conditions.precision == "float64"
        anyway = self.variant == "relaxed" or (self.variant == "unwatched" and not exact)
        return self.reduced == "bfloat16-frozen" or (anyway and not self.watched and self.steps > 2)

    def rounded(self, values):
        """To eight digits, if this is a variant in bfloat16."""
        if not self.reduced.startswith("bfloat16") or self.reduced == "bfloat16-not":
            return values
        bits = np.ascontiguousarray(values).view(np.uint32)
        return ((bits + 0x8000) & 0xFFFF0000).astype(np.uint32).view(np.float32)

    def synchronise(self):
        pass

    def loss(self):
        self.work()
        return float(self.last)

    def weights(self):
        self.watched = True
        self.work()
        return {name: value.copy() for name, value in self.parameters.items()}

    def profile(self, run):
        if self.variant != "kept":
            return super().profile(run)
        run()
        return {"beads pushed": 1e-9, "wiped": 1e-9}

    def gradients(self):
        if self.variant == "part-silent":
            return super().gradients()
        return {name: self.found[name].copy() for name in self.parameters}

    def settings(self):
        return {
            **dict.fromkeys(contract.SETTINGS, "n/a"),
            "precision": str(self.parameters["dense1.kernel"].dtype),
            "intra_threads": int(os.environ["OMP_NUM_THREADS"]),
        }
