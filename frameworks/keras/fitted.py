"""Keras' fit, one mini-batch at a time.

`fit` runs in a thread. Each step passes a mini-batch to the data set that `fit` reads, and waits
for the callback at the mini-batch's end.
"""

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

END = None  # passed instead of a mini-batch after the last one


class Fit:
    """One call of model.fit in its own thread, from the first mini-batch until `end`.

    Between mini-batches the thread waits in its callback and not in the data set. There it would
    block TensorFlow's thread, and TensorFlow may have only one.
    """

    def __init__(self, model: Any, signature: Any) -> None:
        self._model, self._signature = model, signature
        self._given: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()  # to the callback
        self._passed_on: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()  # to the data set
        # A loss for each mini-batch; at the end, an exception or None.
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
        raise answer or RuntimeError("model.fit ended before the last mini-batch")

    def end(self) -> None:
        self._given.put(END)
        self._thread.join()

    def _run(self) -> None:
        callback = keras.callbacks.LambdaCallback(on_train_batch_end=self._trained)
        try:
            # Without a signature Keras would ask for two mini-batches before it trains on one.
            data = tf.data.Dataset.from_generator(self._batches, output_signature=self._signature)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Your input ran out of data")  # as intended
                self._model.fit(data, shuffle=False, verbose=0, callbacks=[callback])
        except BaseException as error:
            self._answers.put(error)
        else:
            self._answers.put(None)

    def _batches(self) -> Iterator[Batch]:
        while (batch := self._passed_on.get()) is not END:
            yield batch

    def _trained(self, step: int, logs: dict[str, float]) -> None:
        self._answers.put(float(logs["loss"]))
        self._passed_on.put(self._given.get())


class FitTrainer(KerasTrainer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._fit: Fit | None = None
        self._over: Any = None
        self._counted = False  # whether Keras' mean of losses includes the last step

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        """Copies on the host: fit moves them to the device itself."""
        return inputs.astype(self._inputs), targets.astype(self._labels)

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
        """The last step's loss. `fit` reports the mean since the last reset, so the metrics are
        reset here after every step, outside the timed region."""
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
