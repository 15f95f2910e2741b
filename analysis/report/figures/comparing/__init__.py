"""Figures of what variants and sizes change."""
