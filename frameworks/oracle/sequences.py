"""The layers of sequences: forward pass and gradients, as in network.py."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frameworks.workloads.sequences import LSTM, Embedding

Array = np.ndarray
Back = Callable[[Array], tuple[Array, ...]]


def embedding(layer: Embedding, words: Array, table: Array) -> tuple[Array, Back]:
    """Each row's gradients add up. Words have no gradient: zeros take its place."""

    def back(s: Array) -> tuple[Array, ...]:
        along_table = np.zeros_like(table)
        np.add.at(along_table, words, s)
        return np.zeros(words.shape, table.dtype), along_table

    return table[words], back


def lstm(layer: LSTM, x: Array, kernel: Array, recurrent: Array, bias: Array) -> tuple[Array, Back]:
    zeros = np.zeros((len(x), len(recurrent)), x.dtype)
    h, c = zeros, zeros
    outputs: list[Array] = []
    steps: list[Any] = []
    for one in x.transpose(1, 0, 2):
        a_i, a_f, a_g, a_o = np.split(one @ kernel + h @ recurrent + bias, 4, axis=1)
        (i, di), (f, df), (g, dg), (o, do) = sigmoid(a_i), sigmoid(a_f), tanh(a_g), sigmoid(a_o)
        new = f * c + i * g
        y, dy = tanh(new)
        # What the slopes along the new c, and along the output, are multiplied by.
        factors = (g * di, c * df, i * dg), y * do
        steps.append((one, h, factors, f, o * dy))
        h, c = o * y, new
        outputs.append(h)

    def back(s: Array) -> tuple[Array, ...]:
        slopes: list[Array] = []
        along = [np.zeros_like(w) for w in (kernel, recurrent, bias)]
        from_h, from_c = zeros, zeros
        for one, before, (of_c, of_o), f, through in reversed(steps):
            from_h = s[:, len(steps) - 1 - len(slopes)] + from_h
            from_c = from_c + from_h * through
            a = np.concatenate([*(from_c * factor for factor in of_c), from_h * of_o], axis=1)
            slopes.append(a @ kernel.T)
            for total, part in zip(along, (one.T @ a, before.T @ a, a.sum(axis=0)), strict=True):
                total += part
            from_h, from_c = a @ recurrent.T, from_c * f
        return np.stack(slopes[::-1], axis=1), *along

    return np.stack(outputs, axis=1), back


def sigmoid(a: Array) -> tuple[Array, Array]:
    """Its values and its slopes."""
    y = 1 / (1 + np.exp(-a))
    return y, y * (1 - y)


def tanh(a: Array) -> tuple[Array, Array]:
    y = np.tanh(a)
    return y, 1 - y**2
