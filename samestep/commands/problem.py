"""What goes wrong at the command line and is the asker's to mend."""


class Problem(Exception):
    """The message says what was wrong and what to do; the exit status is 2."""
