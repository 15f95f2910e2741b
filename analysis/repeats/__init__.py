"""Checks whether whole studies, run at different times, come to the same conclusions."""
