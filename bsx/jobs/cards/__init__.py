"""Metric cards: everything that can be measured of a metric, in one run."""
