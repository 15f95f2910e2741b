"""Mistakes before the update: in mini-batches, weights, layers and the loss."""
