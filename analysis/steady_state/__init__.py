"""Finds from which mini-batch on a process is steady."""
