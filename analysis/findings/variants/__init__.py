"""Variants of one framework beside each other: what a pitfall costs, what each step of tuning gains."""
