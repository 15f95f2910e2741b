"""From a configuration to a plan: who is measured, and what each result depends on."""
