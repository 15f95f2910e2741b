"""The figures of a report: a module each, and one theme for all."""
