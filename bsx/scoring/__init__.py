"""Scoring files: with BERTScore by itself, three figures a segment, or with any metrics, one column a metric."""
