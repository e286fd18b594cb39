"""Metrics trained on human scores, and how much data they need."""
