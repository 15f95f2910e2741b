"""Mistakes in the update, and in what is kept from step to step."""
