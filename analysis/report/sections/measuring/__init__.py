"""Sections on what was measured, how, on what, and how to do it again."""
