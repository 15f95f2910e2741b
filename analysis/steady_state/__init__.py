"""Detects the mini-batch from which a process is steady."""
