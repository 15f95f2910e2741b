"""Sections that compare contenders, variants, workloads and studies."""
