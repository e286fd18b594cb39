"""Kaster, Zhao & Eger 2021 part by part: the regressions, the triples, the ensembles, and how they are shown."""
