"""Compares whole studies: two side by side, a series of repeats (docs/repeatability.md), and their
controls (docs/calibration.md)."""
