"""Whether taking turns changes the answer: contenders in turns, and each in a process that has the
cores alone. docs/solo.md has the results."""
