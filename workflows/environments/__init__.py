"""Builds a virtual environment per framework."""
