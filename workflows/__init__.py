"""How the study runs: one stage per module, from configuration to records."""
