"""The metric zoo: one file for each metric, described by one entry in ``registry/metrics/``."""
