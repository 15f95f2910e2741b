"""All rules of the contract, in the order in which it is best to mend them."""

from workflows.conformance.engine import Rule
from workflows.conformance.rules import (
    certificates,
    conditions,
    description,
    loaders,
    timing,
    trainers,
    truths,
)

MODULES = (description, conditions, trainers, truths, timing, loaders, certificates)
RULES: dict[str, Rule] = {rule.name: rule for module in MODULES for rule in module.RULES}
