"""What `python -m frameworks` does: a module a subcommand, each with `add_arguments` and `run`."""
