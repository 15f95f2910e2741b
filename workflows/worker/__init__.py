"""One contender in one process: it holds the only clock, and answers the coordinator."""
