"""The machine: its fingerprint, its system information and its lock."""
