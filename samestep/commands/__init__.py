"""The commands of `samestep`: one module per command, each with `add_arguments` and `run`.

`run` returns the exit status: 0 if all is well, 1 if the answer is no (a rule is broken, studies
disagree). It raises `Problem` for anything that the user must fix.
"""

from samestep.terminal import Problem


def study(word: str) -> str:
    """The name or folder of a study, as typed. Raises Problem if it is empty."""
    if not word.strip():
        raise Problem(f"{word!r} names no study: give a study's name or folder")
    return word
