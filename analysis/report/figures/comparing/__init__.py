"""Figures that compare frameworks, variants and sizes."""
