"""Mistakes in how the steps run: in which precision, and when."""
