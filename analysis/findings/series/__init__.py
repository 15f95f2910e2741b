"""What changes from study to study: the ratios, the machine's own speed, and its limit."""
