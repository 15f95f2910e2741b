"""Does taking turns change the answer? Contenders run in turns, and each in a process that has the
cores alone. docs/solo.md has the results."""
