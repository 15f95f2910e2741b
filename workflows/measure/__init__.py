"""Measures one contest: starts the workers, deals the turns, and keeps every mini-batch."""
