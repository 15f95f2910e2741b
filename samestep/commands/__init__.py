"""What `samestep` does: one module per command, each with `add_arguments` and `run`.

`run` returns the exit status: 0 if all is well, 1 if the answer is no (a rule is broken, studies
disagree). It raises `Problem` for anything that the person who typed the command has to mend.
"""
