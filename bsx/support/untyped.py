"""Where types end: libraries without any, JSON as it is read, settings before their class has checked them."""

from __future__ import annotations

from typing import Any, TypeAlias

Untyped: TypeAlias = Any
"""An object of a library without types, such as torch, transformers, pyarrow, stanza or scikit-learn."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object, read or to be written, of which no class says what it holds."""

Settings: TypeAlias = dict[str, Any]
"""Settings by name, on their way to the class that checks them."""
