"""Training a metric on human judgments."""
