"""The same numbers from other work, or at another time."""

import time
from concurrent.futures import Future, ThreadPoolExecutor

from planted.registry import defect


@defect("images", "setting", "mode")
def inference_mode(trainer):
    """The network was left in inference mode, which no layer of the vocabulary minds"""
    trainer._network.eval()


@defect("images", "setting", "input_gradient")
def input_gradient(trainer):
    """The gradient of the input is computed as well"""
    put = trainer.put

    def watched(inputs, targets):
        x, y = put(inputs, targets)
        return x.requires_grad_(), y

    trainer.put = watched


class SlowDevice:
    """Work in a thread that is always behind. Reading waits for it, as on a GPU."""

    def __init__(self, trainer, behind_s):
        self.behind_s = behind_s
        self.thread, self.last = ThreadPoolExecutor(1), Future()
        self.last.set_result(None)
        for name in ("loss", "weights", "restart"):
            setattr(trainer, name, self.after(getattr(trainer, name)))

    def after(self, read):
        def wait(*arguments):
            self.last.result()
            return read(*arguments)

        return wait

    def queue(self, work, *arguments):
        def slowly():
            time.sleep(self.behind_s)
            work(*arguments)

        self.last = self.thread.submit(slowly)


@defect("images", "fence", "synchronise")
def missing_synchronise(trainer):
    """The device works in the background, and synchronise does not wait for it"""
    device, step = SlowDevice(trainer, 0.003), trainer.step
    trainer.step = lambda batch: device.queue(step, batch)


@defect("images", "fence", "synchronise")
def synchronise_waits_for_the_loss(trainer):
    """synchronise waits for the loss, and not for the update behind it"""
    device, step, update = SlowDevice(trainer, 0.03), trainer.step, trainer._optimiser.step
    loss = type(trainer).loss
    trainer.loss = lambda: loss(trainer)
    trainer._optimiser.step = lambda: device.queue(update)
    trainer.step = device.after(step)


def later(trainer, *readers, last=False):
    """Steps wait until one of the readers is called, or only the last one does."""
    step, queue = trainer.step, []

    def work():
        while queue:
            step(queue.pop(0))

    def forcing(read):
        return lambda: (work(), read())[1]

    for name in readers:
        setattr(trainer, name, forcing(getattr(trainer, name)))
    trainer.step = (lambda batch: (work(), queue.append(batch))) if last else queue.append


@defect("images", "fence", "synchronise")
def computed_in_loss(trainer):
    """loss does the work of the steps, off the clock"""
    later(trainer, "loss")


@defect("images", "fence", "synchronise")
def last_step_computed_when_read(trainer):
    """The last step is computed when loss or weights are read, as in a lazy graph"""
    later(trainer, "loss", "weights", last=True)
