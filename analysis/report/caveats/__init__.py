"""Caveats that weaken the conclusions; one function checks for each."""
