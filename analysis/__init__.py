"""What is concluded, from records alone; no framework is imported here."""
