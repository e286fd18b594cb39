"""Measurements whose results are committed, and published tables, recomputed."""
