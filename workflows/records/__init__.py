"""What a study writes down: the schema of its records, and how they are written and read."""
