"""Metrics trained on human judgments, combinations of metrics, and metrics that run in another interpreter."""
