"""Turns a configuration into a plan: the contenders, and what each result depends on."""
