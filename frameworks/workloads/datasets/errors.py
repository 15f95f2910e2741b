"""What can go wrong with data."""


class DataError(Exception):
    """Data that cannot be had or stored: what was wrong, where, and what to do."""
