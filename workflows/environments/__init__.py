"""Builds a virtual environment per framework, with uv."""
