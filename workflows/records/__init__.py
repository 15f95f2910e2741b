"""The schema of a study's records, and how they are written and read."""
