"""Checks that both sides did the same work: certificates, losses, weights and settings."""
