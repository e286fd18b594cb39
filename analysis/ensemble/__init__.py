"""Metrics combined, and what that gains."""
