"""Findings drawn from the records: one module per table, with rows of plain values."""
