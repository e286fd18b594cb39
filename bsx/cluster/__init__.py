"""The same scoring on Ray Data."""
