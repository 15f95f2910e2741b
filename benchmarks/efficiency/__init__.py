"""Machine time to a ratio within 3 %: contests in turns beside the ways that are usual
elsewhere. docs/efficiency.md has the results."""
