"""The calibration page in small: sizes and coverages in worlds whose truth is known."""
