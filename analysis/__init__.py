"""Analysis of metric scores: works on tables, arrays and callables and never builds a scorer.

Agreement with people (`meta`, `correlation`, `darr`, `significance`, …), tests between systems (`compare`), what layers
know (`probing`), what a metric measures (`factors`, `disentangle`) and data with human judgments (`datasets`).
"""
