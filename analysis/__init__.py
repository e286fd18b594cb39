"""Analysis of metric scores: works on tables and callables and never builds a scorer.

The statistics, factors and reports arrive with their own releases; see CHANGELOG.
"""
