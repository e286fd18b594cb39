"""Tests of `bsx.analysis.stats.systems`."""
