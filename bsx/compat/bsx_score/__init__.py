"""A module of Hugging Face ``evaluate``: ``evaluate.load(bsx.compat.bsx_score.FOLDER, "chrf")``."""

from pathlib import Path

FOLDER = str(Path(__file__).parent)
"""What ``evaluate.load`` is given."""
