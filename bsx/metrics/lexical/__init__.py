"""Metrics that compare words and characters."""
