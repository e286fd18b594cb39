"""What a chosen model must satisfy: size, memory, licence, files that are here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, field_validator

from bsx.catalog.entries.models import ModelEntry
from bsx.errors import InputError
from bsx.support.memory import parse_bytes
from bsx.support.settings import BaseSettings

PERMISSIVE = ("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "Unlicense")
_COUNTS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}


class Constraints(BaseSettings):
    """What a chosen model must satisfy."""

    max_parameters: Annotated[str | None, Field(description="At most this size, like 300M.")] = None
    max_memory: Annotated[str | None, Field(description="Weights (fp32) of at most this size, like 4GB.")] = None
    licence: Annotated[str | None, Field(description="permissive, or an SPDX identifier.")] = None
    available: Annotated[bool, Field(description="Only models that are on this machine.")] = False

    @field_validator("max_parameters", "max_memory", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    def filters(self) -> list[tuple[str, Callable[[ModelEntry], bool]]]:
        """Return each constraint as it was asked for and a test."""
        tests: list[tuple[str, Callable[[ModelEntry], bool]]] = []
        if self.licence is not None:
            allowed = PERMISSIVE if self.licence == "permissive" else (self.licence,)
            tests.append((f"licence {self.licence}", lambda e: e.licence in allowed))
        if self.max_parameters is not None:
            most = parse_count(self.max_parameters)
            tests.append(
                (
                    f"max_parameters {self.max_parameters}",
                    lambda e: e.parameters is not None and e.parameters <= most,
                )
            )
        if self.max_memory is not None:
            size = parse_bytes(self.max_memory)
            tests.append(
                (f"max_memory {self.max_memory}", lambda e: e.parameters is not None and 4 * e.parameters <= size)
            )
        if self.available:
            tests.append(("available", _is_here))
        return tests


def parse_count(text: int | str) -> int:
    """Return a number of parameters from ``300M``, ``1.5B`` or a plain number.

    >>> parse_count("22.7M")
    22700000
    """
    plain = str(text).strip().upper()
    number, unit = (plain[:-1], plain[-1]) if plain and plain[-1] in _COUNTS else (plain, "")
    try:
        count = float(number) * _COUNTS[unit]
    except ValueError as error:
        raise InputError(f"cannot read the number of parameters {text!r}: write it like 300M or 1.5B") from error
    if not 0 < count < 10**15:
        raise InputError(f"the number of parameters {text!r} must be positive")
    return int(count)


def _is_here(entry: ModelEntry) -> bool:
    from bsx.models.files import is_here

    return is_here(entry.source)


def narrow(
    pool: list[ModelEntry], constraints: Constraints, nothing: str
) -> tuple[list[ModelEntry], list[tuple[str, int]]]:
    """Return the models that satisfy constraints, and how many each of these excluded."""
    excluded = []
    for name, test in constraints.filters():
        kept = [entry for entry in pool if test(entry)]
        excluded.append((name, len(pool) - len(kept)))
        if not kept:
            history = ", ".join(f"{label} excludes {count}" for label, count in excluded)
            raise InputError(f"{nothing}: {history}; loosen {name}")
        pool = kept
    return pool, excluded
