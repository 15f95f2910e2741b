"""Variants of one framework beside each other: what pitfalls cost, what steps of tuning gain."""
