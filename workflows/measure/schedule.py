"""The order of turns: random and balanced."""

import numpy as np


def orders(count: int, rounds: int, random: np.random.Generator) -> list[list[int]]:
    """The order of `count` contenders in each of `rounds` rounds.

    The orders are rows of Williams squares (Williams 1949), each freshly relabelled and shuffled.
    In every square each contender takes each position once and follows each other contender once.
    An odd count needs a pair of squares, in which each contender follows each other one twice.
    Rounds beyond whole squares are rows of one more square.
    """
    rows: list[list[int]] = []
    while len(rows) < rounds:
        labels = random.permutation(count)
        square = [[int(labels[place]) for place in row] for row in williams(count)]
        rows += [square[index] for index in random.permutation(len(square))]
    return rows[:rounds]


def williams(count: int) -> list[list[int]]:
    """A square balanced for position and for predecessor; a pair of them if `count` is odd."""
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(count)]
    square = [[(start + place) % count for place in zigzag] for start in range(count)]
    if count % 2 and count > 1:
        square += [row[::-1] for row in square]
    return square
