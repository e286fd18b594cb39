"""Rescaling baselines of models."""
