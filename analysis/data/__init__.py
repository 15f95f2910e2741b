"""Reads one machine's records and lists the measured contenders, their processes and the pairs to
compare."""
