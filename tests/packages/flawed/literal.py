"""Adapters that write a setting down and do not read it back."""

from abacus import AbacusTrainer
from flawed_adapters import adapter


@adapter
class WritesItsPrecisionDown(AbacusTrainer):
    def settings(self):
        return {**super().settings(), "precision": "float32"}


@adapter
class WritesItsCompilationDown(AbacusTrainer):
    def settings(self):
        return {**super().settings(), "compilation": compilation()}


def compilation():
    return "eager"
