"""Conformance: every rule that the contract puts to an adapter, tried on one.

`samestep check NAME` tells a person, `testing.Conformance` tells pytest. The rules
run in the adapter's own process, so that whatever it does there is a broken rule and no more.
"""
