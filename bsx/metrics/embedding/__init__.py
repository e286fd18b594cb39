"""Metrics on the vectors of a frozen encoder."""
