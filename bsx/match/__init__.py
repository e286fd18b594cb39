"""Matching: from token vectors of two texts to scores."""
