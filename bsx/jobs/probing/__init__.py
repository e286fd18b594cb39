"""Probing the layers of a model: what goes in, the run, what comes out."""
