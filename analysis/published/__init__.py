"""Tables of papers, recomputed."""
