"""Measures one contest: starts the workers, runs the turns, and records every mini-batch."""
