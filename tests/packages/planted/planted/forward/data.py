"""Mini-batches that are not those given."""

from planted.registry import defect, shows


def fed(trainer, change):
    """`put(*change(inputs, targets))`"""
    put = trainer.put
    trainer.put = lambda inputs, targets: put(*change(inputs, targets))


@defect("perceptron", "loss", "step 2 starts from the right weights .* look at the mini-batch")
def one_batch_late(trainer):
    """From the second step on, the mini-batch is the one before"""
    step, waiting = trainer.step, []

    def late(batch):
        waiting.append(batch)
        step(waiting.pop(0) if len(waiting) > 1 else batch)

    trainer.step = late


@defect("perceptron", "loss", "first mini-batch over and over")
def first_batch_for_ever(trainer):
    """Every step trains on the first mini-batch: an iterator made anew each time"""
    step, first = trainer.step, []

    def again(batch):
        first.append(batch)
        step(first[0])

    trainer.step = again


@defect("images", "loss", "look at the mini-batch, the forward pass and the loss")
def last_sample_dropped(trainer):
    """The last sample of every mini-batch is left out"""
    fed(trainer, lambda inputs, targets: (inputs[:-1].copy(), targets[:-1].copy()))


@shows("mnist-cnn", labels="one too high", loss_of="logits")
@defect("images", "loss", "class after the label")
def labels_off_by_one(trainer):
    """Labels count from one"""
    classes = trainer.workload.dataset.classes
    if classes:
        fed(trainer, lambda inputs, targets: (inputs, (targets + 1) % classes))


@defect("images", "loss", "look at the mini-batch, the forward pass and the loss")
def mirrored(trainer):
    """Augmentation left on: images are mirrored"""
    fed(trainer, lambda inputs, targets: (inputs[:, :, ::-1].copy(), targets))


@defect("images", "loss", "look at the mini-batch, the forward pass and the loss")
def scaled_twice(trainer):
    """Inputs are divided by 255 once more"""
    fed(trainer, lambda inputs, targets: (inputs / 255, targets))


class Kept(tuple):
    """A mini-batch with the arrays it was made from."""


@shows("mnist-cnn", put="keeps the caller's array")
@defect("perceptron", "host arrays", "after put")
def caller_array_kept(trainer):
    """put keeps the caller's arrays, and the step reads them once more"""
    put, step = trainer.put, trainer.step

    def keep(inputs, targets):
        batch = Kept(put(inputs, targets))
        batch.arrays = inputs, targets
        return batch

    trainer.put = keep
    trainer.step = lambda batch: step(put(*batch.arrays))


@shows("mnist-cnn", put="keeps the caller's array")
@defect("perceptron", "host arrays", "so much is no matter of precision; arrays given to put")
def memory_shared(trainer):
    """put shares the memory of the caller's arrays, which is possible in float32 only"""
    import torch

    trainer.put = lambda inputs, targets: (
        torch.from_numpy(inputs).to(trainer._dtype),
        torch.from_numpy(targets).to(trainer._target_dtype),
    )
