"""Figures of whether both sides did the same work."""
