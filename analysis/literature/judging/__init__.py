"""The claims of the literature, the rules that judge them, and the verdicts."""
