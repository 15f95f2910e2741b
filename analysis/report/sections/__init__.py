"""The sections of the report: the sentences and tables of each, and the order of its blocks.

A new table is a function in its section's file and a line among its blocks; a new figure
is a module in `figures/` and a line among the blocks.
"""
