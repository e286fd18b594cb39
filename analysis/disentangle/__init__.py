"""What a metric measures: its scores regressed on linguistic factors."""
