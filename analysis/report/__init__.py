"""Turns findings into sentences, tables and figures, and writes the pages that show them."""
