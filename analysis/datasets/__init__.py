"""Data sets with human judgments: one loader for each layout, one tidy table out of each."""
