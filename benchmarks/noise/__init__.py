"""Where the variance between processes comes from: pairs of one contender with itself, run in
one way and another, in turns. docs/noise.md has the findings, README.md here the tables."""
