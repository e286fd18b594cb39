"""What a score was computed with: every setting that can change it, as one line and a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """Name-value pairs that identify a computation.

    Two runs with equal signatures and equal input agree (fp32: within 1e-5). Device, batch size, memory budget and
    thread count are not part of it, because they do not change a score beyond that tolerance.

    >>> print(Signature.of({"metric": "bertscore", "idf": False}))
    metric:bertscore|idf:no
    """

    fields: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, fields: Mapping[str, object]) -> Signature:
        """Build a signature; booleans become ``yes`` and ``no``."""

        def spell(value: object) -> str:
            text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
            return text.replace("|", "%7C")

        return cls(tuple((name, spell(value)) for name, value in fields.items()))

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that stand for the whole signature."""
        return hashlib.sha256(str(self).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        return "|".join(f"{name}:{value}" for name, value in self.fields)

    def __getitem__(self, name: str) -> str:
        return dict(self.fields)[name]
