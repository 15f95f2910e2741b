"""The description of a framework whose import raises an error."""

raise RuntimeError("no beads\n in this house")
