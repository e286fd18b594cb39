"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a phase's name, what is done and what there is in all (0 if that is not known)."""
