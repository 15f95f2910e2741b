"""Draws conclusions from the records alone; imports no framework."""
