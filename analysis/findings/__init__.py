"""What follows from the records: one module per table of findings, as rows of plain values."""
