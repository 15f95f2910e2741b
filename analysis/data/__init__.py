"""Reads one machine's records and says who was measured, in which processes and pairs."""
