"""Proves that contenders compute the same, or says how they differ and why."""
