"""The faults, as the third step (or the method that a kind names) shows them."""

import os
import resource
import signal
import subprocess
import sys
import time
from functools import cache, partial
from getpass import getuser
from itertools import count, cycle
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
from abacus import AbacusOperation, AbacusTrainer

from frameworks.contract import Adapter, Unavailable


def refused():
    token = os.environ.get("HF_TOKEN", "none")
    raise OSError(f"cannot open {Path.home()}/x of {getuser()} with the token {token}")


class Unheard(BaseException):
    pass


class Silent(Exception):
    def __str__(self):
        return str(1 // 0)


class Stubborn:
    def __float__(self):
        raise ZeroDivisionError("in a float")


def die(number):
    os.kill(os.getpid(), number)
    Event().wait(60)


def throw(error):
    raise error


def once(fault):
    """A fault that a process shows once, however many networks it trains."""
    return cache(fault)


def deeper():
    deeper()


def stay():
    """A descendant that never ends, with everything that it has inherited open."""
    while True:
        time.sleep(0.01)


@once
def daemon():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    stay()


def fork_and_die():
    if not os.fork():
        stay()
    os._exit(3)


def stop_the_clock():
    """As libraries for tests do, in every module that has it."""
    from workflows.worker import clock

    clock.now = lambda: 10**15


def miscount(faults):
    from workflows.worker import clock

    most = count(faults, faults)

    def usage(who):
        own = resource.getrusage(who)
        return SimpleNamespace(
            ru_nivcsw=own.ru_nivcsw, ru_minflt=next(most), ru_majflt=own.ru_majflt
        )

    clock.resource = SimpleNamespace(RUSAGE_SELF=resource.RUSAGE_SELF, getrusage=usage)


def remember():
    from workflows.worker import handlers

    handlers.peak_mib = lambda: 1e15 / 2**20


def print_into_the_pipe():
    for handle in range(3, 256):
        try:
            os.write(handle, b"Loading... \xff\n")
        except OSError:
            continue


def print_without_end():
    while True:
        os.write(2, b"still loading...\n" * 65536)


def alarm():
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    Event().wait(60)


def no_output():
    sys.stdout = sys.stderr = None
    raise ValueError("in the dark")


def no_descriptors():
    os.closerange(3, 256)


def bytes_and_exit():
    os.write(2, b"\xff\xfe\x00 broken \x1b[31m at 0x7f3a\n")
    os._exit(4)


def another_text():
    address, folder = hex(id(object())), f"/tmp/tmp{os.urandom(3).hex()}"
    raise ValueError(f"at {time.perf_counter()} ({time.ctime()}) <object at {address}> in {folder}")


STEPS = {
    "raises-exit": lambda: sys.exit(0),
    "raises-interrupt": lambda: throw(KeyboardInterrupt()),
    "raises-generator-exit": lambda: throw(GeneratorExit()),
    "raises-stop": lambda: throw(StopIteration()),
    "raises-base": lambda: throw(Unheard("of")),
    "raises-nothing-to-say": lambda: throw(Silent()),
    "raises-half-a-character": lambda: throw(ValueError("half \udcff of it")),
    "raises-colours": lambda: throw(ValueError("\x1b[31mred\x1b[0m\x00\u202e")),
    "raises-megabytes": lambda: throw(ValueError("x" * 10_000_000)),
    "raises-recursion": deeper,
    "raises-group": lambda: throw(ExceptionGroup("several", [ValueError("one"), OSError("two")])),
    "raises-another-text": another_text,
    "raises-names": refused,
    "raises-unavailable": lambda: throw(Unavailable()),
    "prints-answers": lambda: os.write(1, b'{"number": 7, "answer": {}}\n'),
    "prints-into-the-pipe": print_into_the_pipe,
    "prints-without-end": print_without_end,
    "prints-bytes": bytes_and_exit,
    "reads-standard-input": lambda: input("which device? "),
    "sets-an-alarm": alarm,
    "sets-numpy-to-raise": lambda: np.seterr(all="raise"),
    "sets-no-output": no_output,
    "sets-another-folder": lambda: os.chdir("/"),
    "sets-no-descriptors": no_descriptors,
    "sets-a-clock": stop_the_clock,
    "sets-a-counter": lambda: miscount(10**15),
    "sets-its-faults": lambda: miscount(2 * 10**11),
    "sets-its-memory": remember,
    "leaves-a-mark": lambda: os.environ.update(FAULT="opening-exits"),
    "raises-unimplemented": lambda: throw(NotImplementedError("no aten::mm on this backend")),
    "forks-back": os.fork,
    "forks-a-daemon": daemon,
    "forks-a-program": once(lambda: subprocess.Popen(["sleep", "900"])),
    "forks-and-dies": fork_and_die,
    "ends-its-group": lambda: (os.killpg(0, signal.SIGTERM), Event().wait(60)),
    "exits-0": lambda: os._exit(0),
    "exits-200": lambda: os._exit(200),
    "stops": lambda: die(signal.SIGSTOP),
    "hangs": lambda: Event().wait(3600),
}  # fmt: skip

RESULTS = {
    "batch-none": ("put", lambda batch: None),
    "loss-none": ("loss", lambda loss: None),
    "loss-text": ("loss", str),
    "loss-list": ("loss", lambda loss: [loss]),
    "loss-complex": ("loss", complex),
    "loss-vast": ("loss", lambda loss: 10**400),
    "loss-raises": ("loss", lambda loss: Stubborn()),
    "loss-nan": ("loss", lambda loss: float("nan")),
    "loss-infinite": ("loss", lambda loss: np.float32("inf")),
    "loss-nearly-infinite": ("loss", lambda loss: 1.7e308),
    "settings-none": ("settings", lambda own: None),
    "settings-nested": ("settings", lambda own: {**own, "blas": {"a": [object()]}}),
    "settings-numbered": ("settings", lambda own: {**own, 7: "seven"}),
    "settings-many": ("settings", lambda own: {**own, **{f"no{n}": n for n in range(9984)}}),
    "settings-few": ("settings", lambda own: {"precision": own["precision"]}),
    "settings-nan": ("settings", lambda own: {**own, "blas": np.float64("nan")}),
    "settings-half-a-character": ("settings", lambda own: {**own, "blas": "\udc80 \x1b[1m"}),
    "settings-alike": ("settings", lambda own: {**own, "blas\x00": "another"}),
    "settings-long": ("settings", lambda own: {**own, "blas": "x" * 10**6, "gpu_memory": 10**400}),
    "weights-none": ("weights", lambda own: None),
    "weights-nan": ("weights", lambda own: {name: w * np.nan for name, w in own.items()}),
    "weights-objects": ("weights", lambda own: {n: w.astype(object) for n, w in own.items()}),
    "weights-vast": ("weights", lambda own: {n: np.broadcast_to(0.0, 10**13) for n in own}),
    "weights-named-vastly": ("weights", lambda own: {"x" * 30_000: np.zeros(3)}),
    "weights-hang": ("weights", lambda own: Event().wait(3600)),
    "weights-numbered": ("weights", lambda own: dict(enumerate(own.values()))),
    "raises-from-putting": ("put", lambda batch: throw(OSError("put"))),
    "raises-from-waiting": ("synchronise", lambda none: throw(OSError("synchronise"))),
    "restart-raises": ("restart", lambda none: throw(OSError("restart"))),
    "restart-exits": ("restart", lambda none: os._exit(7)),
    "restart-hangs": ("restart", lambda none: Event().wait(3600)),
    "restart-gives": ("restart", lambda none: "weights"),
    "profile-raises": ("profile", lambda own: throw(OSError("profile"))),
    "profile-none": ("profile", lambda own: None),
    "profile-text": ("profile", lambda own: {"dense": "slow"}),
    "profile-nan": ("profile", lambda own: {"dense": float("nan")}),
    "profile-dies": ("profile", lambda own: die(signal.SIGSEGV)),
}  # fmt: skip


class FaultyAdapter(Adapter):
    def __init__(self, conditions):
        self.conditions = conditions
        kind = os.environ.get("FAULT")
        if kind == "opening-exits":
            sys.exit("not today")
        if kind == "opening-dies":
            die(signal.SIGSEGV)
        if kind == "opening-unavailable":
            raise Unavailable("\x00 \n")

    def trainer(self, workload, weights, variant):
        if variant == "raises-from-building":
            raise OSError("trainer")
        if workload.elementwise:
            return FaultyOperation(workload, weights, variant, self.conditions)
        return FaultyTrainer(workload, weights, variant, self.conditions)

    def loader(self, prepare, workers):
        kind = os.environ.get("FAULT")
        if kind == "loader-raises":
            raise OSError("loader")
        if kind == "loader-unavailable":
            raise Unavailable("no loader here")
        deliver = LOADERS.get(kind, lambda prepare, numbers: map(prepare, numbers))
        return partial(deliver, prepare) if callable(deliver) else deliver


LOADERS = {
    "loader-none": None,
    "loader-number": lambda prepare, numbers: 7,
    "loader-text": lambda prepare, numbers: ("a mini-batch" for number in numbers),
    "loader-lists": lambda prepare, numbers: ([a.tolist() for a in prepare(n)] for n in numbers),
    "loader-nan": lambda prepare, numbers: ([a * np.nan for a in prepare(n)] for n in numbers),
    "loader-short": lambda prepare, numbers: map(prepare, numbers[:1]),
    "loader-endless": lambda prepare, numbers: map(prepare, cycle(numbers)),
    "loader-hangs": lambda prepare, numbers: (Event().wait(3600) for number in numbers),
    "loader-dies": lambda prepare, numbers: (die(signal.SIGSEGV) for number in numbers),
    "loader-exits": lambda prepare, numbers: (sys.exit(0) for number in numbers),
    "loader-forks": lambda prepare, numbers: (daemon(), map(prepare, numbers))[1],
}  # fmt: skip


class FaultyOperation(AbacusOperation):
    def step(self, batch):
        super().step(batch)
        if self.steps == 3:
            BROKEN.get(self.variant, lambda: None)()

    def on_host(self, result):
        return SHAPED.get(self.variant, lambda right: right)(result)

    def loss(self):
        return "a checksum" if self.variant == "operation-text" else super().loss()


BROKEN = {
    "operation-raises": lambda: throw(OSError("operation")),
    "operation-hangs": lambda: Event().wait(3600),
    "operation-dies": lambda: die(signal.SIGSEGV),
    "operation-exits": lambda: os._exit(6),
}
SHAPED = {
    "operation-none": lambda right: np.array(None),
    "operation-nan": lambda right: right * np.nan,
    "operation-short": lambda right: right.ravel()[:1],
    "operation-vast": lambda right: np.broadcast_to(np.float32(1), 10**13),
}


class FaultyTrainer(AbacusTrainer):
    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        place, change = RESULTS.get(super().__getattribute__("__dict__").get("variant"), ("", None))
        return (lambda *given: change(found(*given))) if name == place else found

    def profile(self, run):
        run()
        return {"beads pushed": 1e-9}

    def misbehave(self):
        if self.variant.startswith("dies-"):
            die(int(self.variant[5:]) if self.variant[5:].isdecimal() else signal_of(self.variant))
        STEPS.get(self.variant, lambda: None)()


def signal_of(variant):
    return signal.Signals[variant[5:].upper()]
