"""The same kinds of mistakes in TensorFlow's adapter."""

from planted.registry import defect


def planted(workload, caught_by, message, base="tuned"):
    return defect(workload, caught_by, message, framework="planted-tensorflow", base=base)


def traced(trainer, loss=lambda right, targets, outputs: right(targets, outputs)):
    """Build the step anew around another loss."""
    from frameworks.tensorflow import tuned
    from frameworks.tensorflow.trainer import looked_up_once, train_step

    labels = trainer._target_dtype.is_integer
    right = tuned.sparse_cross_entropy if labels else tuned.mean_squared_error
    step = train_step(trainer._network, lambda y, x: loss(right, y, x), trainer._optimiser)
    trainer._train_step = looked_up_once(step)


@planted("images", "loss", "sums the loss where its mean")
def sum_for_mean(trainer):
    """The loss is summed over the mini-batch: Keras' reduction `sum`"""
    traced(trainer, lambda right, targets, outputs: right(targets, outputs) * outputs.shape[0])


@planted("images", "loss", "softmax twice")
def double_softmax(trainer):
    """A softmax before a loss that has one"""
    import tensorflow as tf

    traced(trainer, lambda right, targets, outputs: right(targets, tf.nn.softmax(outputs)))


@planted("perceptron", "weights", "epsilon before the bias correction")
def adam_as_keras(trainer):
    """Keras' Adam, undeclared"""
    from frameworks.tensorflow import keras_model

    published = trainer._optimiser.published
    if published.kind == "adam":
        keras = keras_model.optimiser(published, trainer._dtype.name, trainer._variables)
        trainer._optimiser.apply_gradients = keras.apply_gradients


@planted("images", "weights", "learning rate rounded to float32", base="default")
def rate_in_float32(trainer):
    """Keras keeps the learning rate in float32"""
    import numpy as np

    rate = trainer._optimiser.learning_rate
    rate.assign(np.float64(np.float32(rate.numpy())))


@planted("images", "loss", "pads both sides alike")
def padded_alike(trainer):
    """A convolution with `same` padding and stride 2 pads both sides alike, as PyTorch does"""
    import tensorflow as tf

    kernel, bias = trainer._variables[:2]
    pads = [[0, 0], [1, 1], [1, 1], [0, 0]]
    if getattr(trainer.workload.layers[0], "padding", "") == "same":
        trainer._network._operations[0] = lambda x: tf.nn.conv2d(x, kernel, 2, pads) + bias


@planted("images", "loss", "class after the label")
def labels_off_by_one(trainer):
    """Labels count from one"""
    put, classes = trainer.put, trainer.workload.dataset.classes
    if classes:
        trainer.put = lambda inputs, targets: put(inputs, (targets + 1) % classes)


@planted("perceptron", "gradient", "dense1.kernel is zero, dense1.bias is zero")
def first_layer_frozen(trainer):
    """The first layer is left out of the update, as a fine-tuning recipe does"""
    apply = trainer._optimiser.apply_gradients
    trainer._optimiser.apply_gradients = lambda pairs: apply(list(pairs)[2:])
