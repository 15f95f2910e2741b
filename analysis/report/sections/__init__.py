"""The sections of the report: the sentences and tables of each, and the order of its parts."""
