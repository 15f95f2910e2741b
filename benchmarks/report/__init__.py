"""How long the report of a large study takes, and how much memory."""
