"""Combining metrics into an ensemble, and keeping it."""
