"""What was published: Table 7, ratios of its cells, and their operations against the peak."""
