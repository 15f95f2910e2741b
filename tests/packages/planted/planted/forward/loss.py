"""Another loss than the workload's, or the loss of another moment."""

from planted.registry import defect, shows


def losing(trainer, change):
    """The loss is `change(right loss function, outputs, targets)`."""
    right = trainer._loss_function
    trainer._loss_function = lambda outputs, targets: change(right, outputs, targets)


@shows("mnist-cnn", loss_reduction="sum")
@shows("mlp", loss_reduction="sum")
@defect("images", "loss", "sums the loss where its mean")
def sum_for_mean(trainer):
    """The loss is summed over the mini-batch, and over all outputs"""
    losing(trainer, lambda right, outputs, targets: right(outputs, targets) * targets.numel())


@shows("mlp", loss_reduction="other")
@defect("perceptron", "loss", "look at the mini-batch, the forward pass")
def absolute_error(trainer):
    """The absolute error for the squared error"""
    losing(trainer, lambda right, outputs, targets: (outputs - targets).abs().mean())


@shows("mlp", loss_reduction="sum over outputs, mean over samples")
@defect("perceptron", "loss", "every tensor is 3 times the right one")
def summed_over_outputs(trainer):
    """The squared error is summed over the outputs, and averaged over the mini-batch only"""
    losing(trainer, lambda right, outputs, targets: right(outputs, targets) * outputs.shape[1])


@defect("perceptron", "loss", "every tensor is 0.5 times the right one")
def half_squared_error(trainer):
    """Half the squared error"""
    losing(trainer, lambda right, outputs, targets: right(outputs, targets) / 2)


@shows("mnist-cnn", loss_of="probabilities")
@defect("images", "loss", "softmax twice")
def double_softmax(trainer):
    """A softmax before a loss that has one"""
    losing(trainer, lambda right, outputs, targets: right(outputs.softmax(1), targets))


@defect("images", "loss", "look at the mini-batch, the forward pass and the loss")
def relu_on_logits(trainer):
    """A ReLU behind the last layer, as in some definitions of 2016"""
    losing(trainer, lambda right, outputs, targets: right(outputs.relu(), targets))


@defect("images", "loss", "every tensor is 0.25 times the right one")
def loss_over_classes(trainer):
    """The loss is divided by the number of classes"""
    losing(trainer, lambda right, outputs, targets: right(outputs, targets) / outputs.shape[1])


@defect("images", "loss", "look at the mini-batch, the forward pass and the loss")
def label_smoothing(trainer):
    """Labels are smoothed by 10 %"""
    import torch

    if isinstance(trainer._loss_function, torch.nn.CrossEntropyLoss):
        trainer._loss_function.label_smoothing = 0.1


@defect("images", "gradient", "1024 times the right one")
def scaled_gradients(trainer):
    """Loss scaling for mixed precision, and gradients that are not scaled back"""
    step = trainer._optimiser.step

    def scaled():
        for weight in trainer._network.parameters():
            weight.grad *= 1024
        step()

    trainer._optimiser.step = scaled


@shows("mnist-cnn", loss_taken="after the update", gradients="fresh")
@shows("mlp", loss_taken="after the update")
@defect("images", "loss", "of the first gradient, all is right")
def loss_after_update(trainer):
    """The loss is that after the update"""
    step = trainer.step

    def then_look(batch):
        step(batch)
        inputs, targets = batch
        trainer._loss = trainer._loss_function(trainer._network(inputs), targets).detach()

    trainer.step = then_look


@defect("images", "loss", r"loss\(\) does not, first at step 2")
def loss_one_step_old(trainer):
    """The loss is that of the step before"""
    step, losses = trainer.step, []

    def behind(batch):
        step(batch)
        losses.append(trainer._loss)
        trainer._loss = losses[max(len(losses) - 2, 0)]

    trainer.step = behind


@defect("images", "loss", "mean of all losses so far")
def running_mean_of_losses(trainer):
    """The loss is the mean since the beginning, as a progress bar shows it"""
    step, losses = trainer.step, []

    def smoothed(batch):
        step(batch)
        losses.append(trainer._loss)
        trainer._loss = sum(losses) / len(losses)

    trainer.step = smoothed


@defect("images", "loss", "of the first gradient, all is right")
def loss_in_float32(trainer):
    """The loss is handed out through float32"""
    import numpy as np

    loss = trainer.loss
    trainer.loss = lambda: float(np.float32(loss()))


@defect("perceptron", "loss", "not finite at step 8")
def not_a_number(trainer):
    """The seventh update makes a weight NaN"""
    step, done = trainer.step, []

    def spoilt(batch):
        step(batch)
        done.append(batch)
        if len(done) == 7:
            next(trainer._network.parameters()).data.view(-1)[0] = float("nan")

    trainer.step = spoilt
