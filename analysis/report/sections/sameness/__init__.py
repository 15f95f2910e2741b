"""Sections on whether both sides did the same work, and on what the self-test found."""
