"""The command `samestep`: one module per command, in `commands`."""
