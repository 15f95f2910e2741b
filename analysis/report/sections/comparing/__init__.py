"""Sections on who takes how long compared with whom."""
