"""Nodes of a cluster measure a study that is planned on a login node."""
