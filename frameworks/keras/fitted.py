"""Keras' fit, one mini-batch at a time: it runs in a thread, and each step hands a mini-batch to
the data set that it reads and waits for its callback."""

import queue
import threading
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
    """One call of model.fit in a thread of its own, until `end`."""

    def __init__(self, model: Any, signature: Any) -> None:
        self._model, self._signature = model, signature
        self._batches: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        # A loss for each mini-batch; an exception, or None at the end, when there are no more.
        self._answers: queue.SimpleQueue[float | BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="model.fit", daemon=True)
        self._thread.start()

    def train(self, batch: Batch) -> float:
        """The loss of one step. Raises whatever fit raised in its thread."""
        self._batches.put(batch)
        answer = self._answers.get()
        if isinstance(answer, float):
            return answer
        raise answer or RuntimeError("model.fit came to its end before the last mini-batch")

    def end(self) -> None:
        self._batches.put(END)
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _given(self) -> Iterator[Batch]:
        while (batch := self._batches.get()) is not END:
            yield batch

    def _run(self) -> None:
        told = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda step, logs: self._answers.put(float(logs["loss"]))
        )
        try:
            # A signature, as Keras would else ask for two mini-batches before it trains on one.
            data = tf.data.Dataset.from_generator(self._given, output_signature=self._signature)
            self._model.fit(data, verbose=0, callbacks=[told])
        except BaseException as error:
            self._answers.put(error)
        else:
            self._answers.put(None)


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
        # At the end of the process too, or TensorFlow would wait for a mini-batch for ever.
        self._over = weakref.finalize(self, self._fit.end)
        self._counted = False

    def _end(self) -> None:
        if self._fit:
            self._over()
        self._fit, self._counted = None, False
