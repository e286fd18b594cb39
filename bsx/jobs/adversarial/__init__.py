"""Tests that try to fool metrics: pairs, triples and challenge sets."""
