"""Statistics of several systems on the same segments: matrices (systems, segments), and differences of two."""
