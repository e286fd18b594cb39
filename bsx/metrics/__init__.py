"""The metric zoo: one file a metric, each described by one entry in ``registry/metrics/``."""
