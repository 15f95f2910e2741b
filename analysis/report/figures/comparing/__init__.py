"""Figures of who takes how long compared with whom, and of what variants and sizes change."""
