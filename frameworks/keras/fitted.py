"""Keras' fit, one mini-batch at a time: it runs in a thread, and each step hands a mini-batch to
the data set that it reads and waits for its callback."""

import queue
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from frameworks.keras.trainer import Batch, KerasTrainer
from frameworks.workloads import Weights

END = None  # instead of a mini-batch: that was the last one


class Fit:
    """One call of model.fit in a thread of its own, from the first mini-batch until `end`.

    Between mini-batches it waits in its callback, and not in the data set: there TensorFlow
    would wait with it, in the only thread that it may have, and nobody else could compute.
    """

    def __init__(self, model: Any, signature: Any) -> None:
        self._model, self._signature = model, signature
        self._given: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()  # to the callback
        self._passed_on: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()  # to the data set
        # A loss for each mini-batch; an exception, or None at the end, when there are no more.
        self._answers: queue.SimpleQueue[float | BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="model.fit", daemon=True)

    def train(self, batch: Batch) -> float:
        """The loss of one step. Raises whatever fit raised in its thread."""
        if self._thread.ident is None:
            self._passed_on.put(batch)
            self._thread.start()
        else:
            self._given.put(batch)
        answer = self._answers.get()
        if isinstance(answer, float):
            return answer
        raise answer or RuntimeError("model.fit came to its end before the last mini-batch")

    def end(self) -> None:
        self._given.put(END)
        self._thread.join()

    def _run(self) -> None:
        told = keras.callbacks.LambdaCallback(on_train_batch_end=self._told)
        try:
            # A signature, as Keras would else ask for two mini-batches before it trains on one.
            data = tf.data.Dataset.from_generator(self._batches, output_signature=self._signature)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Your input ran out of data")  # as it shall
                self._model.fit(data, shuffle=False, verbose=0, callbacks=[told])
        except BaseException as error:
            self._answers.put(error)
        else:
            self._answers.put(None)

    def _batches(self) -> Iterator[Batch]:
        while (batch := self._passed_on.get()) is not END:
            yield batch

    def _told(self, step: int, logs: dict[str, float]) -> None:
        self._answers.put(float(logs["loss"]))
        self._passed_on.put(self._given.get())


class FitTrainer(KerasTrainer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._fit: Fit | None = None
        self._over: Any = None
        self._counted = False  # whether Keras' mean of losses has any

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        """Copies on the host: fit moves them to the device itself."""
        return inputs.astype(self._dtype), targets.astype(self._labels)

    def step(self, batch: Batch) -> None:
        if self._counted:
            self.loss()
        if self._fit is None:
            self._begin(batch)
        assert self._fit
        try:
            self._loss = self._fit.train(batch)
        except BaseException:
            self._end()
            raise
        self._counted = True

    def loss(self) -> float:
        """What fit tells is a mean since its last reset, so that it has to be of one step: reset
        here, which is off the clock where every loss is read."""
        if self._counted:
            self._model.reset_metrics()
            self._counted = False
        return super().loss()

    def restart(self, weights: Weights) -> None:
        self._end()
        super().restart(weights)

    def _begin(self, batch: Batch) -> None:
        signature = tuple(tf.TensorSpec(array.shape, array.dtype) for array in batch)
        self._fit = Fit(self._model, signature)
        self._over = weakref.finalize(self, self._fit.end)
        self._counted = False

    def _end(self) -> None:
        if self._fit:
            self._over()
        self._fit, self._counted = None, False
