"""Benchmarks of the study's own method: they print figures and are not tests."""
