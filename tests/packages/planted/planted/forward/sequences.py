"""Embeddings and LSTMs that compute something else."""

from planted.forward.loss import losing
from planted.forward.weights import loaded
from planted.registry import defect, replaced, shows


def lstms(trainer):
    """The modules around PyTorch's own LSTMs."""
    from frameworks.pytorch.network import LSTM

    return [module for module in trainer._network.modules() if isinstance(module, LSTM)]


def exchanged(order):
    """An LSTM's tensor with its four blocks in this order, both ways."""
    import numpy as np

    def change(name, weight):
        if not name.startswith("lstm"):
            return weight
        blocks = np.split(weight, 4, axis=-1)
        return np.concatenate([blocks[n] for n in order], axis=-1)

    return change, change


@shows("lstm", lstm_gates="i, f, o, g")
@defect("words", "loss", "gates in the order i, f, o, g")
def gates_in_another_order(trainer):
    """The LSTM's gates are in the order i, f, o, g, both ways"""
    loaded(trainer, *exchanged((0, 1, 3, 2)))


@shows("lstm", lstm_gates="i, g, f, o")
@defect("words", "loss", "gates in the order i, g, f, o")
def gates_of_forget_and_input_exchanged(trainer):
    """The LSTM's gates are in the order i, g, f, o, both ways"""
    loaded(trainer, *exchanged((0, 2, 1, 3)))


@shows("lstm", lstm_forget_bias=1)
@defect("words", "loss", "adds 1 to the bias of its LSTM's forget gate")
def forget_bias(trainer):
    """The LSTM's forget gate has an extra bias of 1, which weights() does not show"""
    load = trainer._network.load

    def load_and_add(weights):
        load(weights)
        for module in lstms(trainer):
            _, f, _, _ = module.lstm.bias_hh_l0.data.chunk(4)
            f.fill_(1)

    trainer._network.load = load_and_add


@shows("lstm", lstm_biases=2)
@defect("words", "loss", "second bias in its LSTM")
def second_bias_trained(trainer):
    """Both biases of PyTorch's LSTM are trained, and weights() gives the first one"""
    from frameworks.pytorch import optimisers

    trainer._network.requires_grad_(True)
    parameters = trainer._network.parameters()
    trainer._optimiser = optimisers.build(trainer.workload.optimiser, parameters, fast=False)


@shows("lstm", lstm_gates="other", lstm_activation="other")
@defect("words", "loss", "look at the mini-batch, the forward pass")
def missing_tanh(trainer):
    """The LSTM's output is its output gate times c, not times tanh(c)"""
    stepwise(trainer, lambda a: a.sigmoid(), lambda c: c)


@shows("lstm", lstm_activation="hard sigmoid of 0.2")
@defect("words", "loss", "look at the mini-batch, the forward pass")
def hard_sigmoid(trainer):
    """The LSTM's gates are hard sigmoids, as Keras once had them"""
    stepwise(trainer, lambda a: (0.2 * a + 0.5).clamp(0, 1), lambda c: c.tanh())


def stepwise(trainer, gate, out):
    """LSTMs by hand, with gates and outputs of these functions."""
    import torch

    def forward_of(module):
        own = module.lstm

        def forward(sequences):
            h = c = sequences.new_zeros(len(sequences), own.hidden_size)
            outputs = []
            for x in sequences.unbind(1):
                a = x @ own.weight_ih_l0.T + h @ own.weight_hh_l0.T + own.bias_ih_l0
                i, f, g, o = a.chunk(4, 1)
                c = gate(f) * c + gate(i) * g.tanh()
                h = gate(o) * out(c)
                outputs.append(h)
            return torch.stack(outputs, 1)

        return forward

    replaced(lstms(trainer), forward_of)


@shows("lstm", lstm_state="carried over")
@defect("words", "loss", "step 2 starts from the right weights .* that a layer keeps")
def state_carried(trainer):
    """The LSTM starts each mini-batch from the state in which the one before has left it"""

    def forward_of(module):
        left = {}  # by the number of sequences

        def forward(sequences):
            outputs, state = module.lstm(sequences, left.get(len(sequences)))
            left[len(sequences)] = tuple(part.detach() for part in state)
            return outputs

        return forward

    replaced(lstms(trainer), forward_of)


@defect("words", "gradient", "lstm1.recurrent is off by")
def gradient_cut(trainer):
    """No gradient passes from a step of a sequence to the step before"""
    import torch

    def forward_of(module):
        def forward(sequences):
            state, outputs = None, []
            for x in sequences.split(1, dim=1):
                output, state = module.lstm(x, state)
                state = tuple(part.detach() for part in state)
                outputs.append(output)
            return torch.cat(outputs, 1)

        return forward

    replaced(lstms(trainer), forward_of)


@shows("lstm", loss_over_time="of the last step")
@defect("words", "loss", "look at the mini-batch, the forward pass and the loss")
def last_step_only(trainer):
    """The loss is that of the last step of each sequence, not the mean over all steps"""
    losing(trainer, lambda right, outputs, targets: right(outputs[:, -1:], targets[:, -1:]))


@shows("lstm", loss_over_time="sum over steps, mean over sequences")
@defect("words", "loss", "every tensor is 4 times the right one")
def summed_over_time(trainer):
    """The loss is summed over the steps of a sequence, and averaged over sequences"""
    losing(trainer, lambda right, outputs, targets: right(outputs, targets) * targets.shape[1])


@defect("words", "gradient", "the first loss is right, .* embedding1.table is off by")
def rows_overwritten(trainer):
    """Of a word that comes more than once, only the last gradient counts, not the sum"""
    import torch

    class Rows(torch.autograd.Function):
        @staticmethod
        def forward(context, table, words):
            context.save_for_backward(words)
            context.shape = table.shape
            return table[words]

        @staticmethod
        def backward(context, slopes):
            (words,) = context.saved_tensors
            along_table = slopes.new_zeros(context.shape)
            along_table[words.flatten()] = slopes.flatten(0, 1)
            return along_table, None

    for module in trainer._network.modules():
        if isinstance(module, torch.nn.Embedding):
            module.forward = lambda words, table=module.weight: Rows.apply(table, words)
