"""Vectors kept on disk, so that no text is encoded twice."""
