"""Proves that contenders compute the same, or says where they differ and why."""
