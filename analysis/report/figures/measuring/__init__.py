"""Figures of what was measured beside the times that are compared."""
