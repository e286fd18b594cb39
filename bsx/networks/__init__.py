"""Metrics trained on human scores: small networks on the vectors of a frozen encoder."""
