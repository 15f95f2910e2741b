"""Checks that both sides did the same work: certificates, first losses and settings read back."""
