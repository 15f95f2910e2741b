"""Turns findings into sentences, tables, figures and the page that shows them."""
