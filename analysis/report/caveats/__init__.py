"""What weakens the conclusions: every caveat, each looked for by one function."""
