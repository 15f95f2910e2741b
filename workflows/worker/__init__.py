"""One contender in one process, which answers the coordinator's requests and has the only clock."""
