"""What changes from study to study: the machine's own speed, and the ratios."""
