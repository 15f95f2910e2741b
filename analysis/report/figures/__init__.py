"""The figures of a report: a module each, in the folders of the sections that show them, and one
theme for all."""
