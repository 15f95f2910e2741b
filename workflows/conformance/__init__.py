"""Conformance: every rule that the contract sets for an adapter, tried on an adapter.

`samestep check NAME` reports to a person, `testing.Conformance` to pytest. The rules run in a
process of the adapter's own: an adapter that ends or hangs its process breaks a rule, nothing else.
"""
