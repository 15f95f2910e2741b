"""Statistics of plain arrays: estimates, intervals and tests, without any record or table."""
