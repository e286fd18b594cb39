"""Scores as detectors of a yes-or-no label: areas under curves, their tests, the best threshold."""
