"""Describes the machine: its fingerprint, its GPUs, its system information and its lock."""
