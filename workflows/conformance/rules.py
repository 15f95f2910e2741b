"""All rules, in the order in which they are best mended."""

from workflows.conformance import (
    certificates,
    conditions,
    description,
    fences,
    source,
    threads,
    trainers,
    truths,
)
from workflows.conformance.rule import Rule

MODULES = (
    description, source, conditions, trainers, truths, fences, threads, certificates,
)  # fmt: skip
RULES: dict[str, Rule] = {rule.name: rule for module in MODULES for rule in module.RULES}
