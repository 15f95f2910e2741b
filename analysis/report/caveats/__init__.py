"""Caveats that weaken the conclusions, each checked by a function."""
