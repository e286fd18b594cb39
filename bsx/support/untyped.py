"""Where libraries without types begin."""

from __future__ import annotations

from typing import Any, TypeAlias

Untyped: TypeAlias = Any
"""An object of a library without types, such as torch, transformers, pyarrow, stanza or scikit-learn."""
