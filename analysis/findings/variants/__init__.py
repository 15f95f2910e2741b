"""Variants of one framework beside each other: what pitfalls cost, what steps of tuning and a
reduced precision gain, what the parts of a step take, and what preparing mini-batches costs."""
