"""Figures of what was measured, and on what."""
