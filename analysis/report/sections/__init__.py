"""The sections of the report: the sentences and tables of each, and the order of its parts.

A new table is a function in its section's file and a line among the section's parts; a new figure
is a module in `figures/` and a line among the parts.
"""
