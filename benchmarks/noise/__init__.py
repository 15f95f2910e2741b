"""Where the variance between processes comes from: pairs of one contender with itself, run in
different ways. docs/noise.md has the findings, README.md the tables."""
