"""Draws conclusions from the records alone; imports no framework."""

import os

# Matplotlib refuses to be imported if this names a backend that is not there. Figures need none.
os.environ.pop("MPLBACKEND", None)
