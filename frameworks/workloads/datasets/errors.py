"""The error of data sets."""


class DataError(Exception):
    """Data cannot be found or stored; the message says what is wrong, where, and what to do."""
