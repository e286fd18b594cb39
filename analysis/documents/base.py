"""What all result documents have in common."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, ValidatorFunctionWrapHandler, WrapValidator

from bsx.analysis.render.numbers import plain
from bsx.support.provenance import Provenance
from bsx.support.untyped import Untyped


def _number(value: object, number: ValidatorFunctionWrapHandler) -> float | None:
    """Leave a whole number as it is: JSON tells 3 from 3.0."""
    found: float | None = value if type(value) is int else number(plain(value))
    return found


Number = Annotated[float | None, WrapValidator(_number)]
"""A number; None where it is not defined."""
Interval = tuple[Number, Number] | None


class DocumentPart(BaseModel):
    """A part of a document. A field without a default is one that a report needs; keys it does not know are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())

    @property
    def more(self) -> dict[str, object]:
        """Keys beyond those that every such part has."""
        return self.model_extra or {}

    @classmethod
    def from_results(cls, *found: Untyped, **more: object) -> Self:
        """Return a part of what results hold in attributes of the same names; their ``low`` and ``high`` are ``ci``.

        Args:
            found: the results; of two that have an attribute, the later one's counts.
            more: fields that no result has, or that shall hold something else.
        """
        named: dict[str, object] = {}
        for one in found:
            named |= {name: getattr(one, name) for name in cls.model_fields if hasattr(one, name)}
            if "ci" in cls.model_fields and hasattr(one, "low"):
                named["ci"] = (one.low, one.high)
        return cls.model_validate(named | more)

    def to_dict(self) -> dict[str, object]:
        """Return what was set, as JSON wants it: a number that is not finite becomes None."""
        return {name: plain(value) for name, value in self.model_dump(exclude_unset=True).items()}


class ResultDocument(DocumentPart):
    """What every document has."""

    settings: dict[str, object] = {}
    notes: list[str] = []
    provenance: Provenance | None = None

    def to_dict(self) -> dict[str, object]:
        """Return what was set, settings, notes and provenance last."""
        found = super().to_dict()
        last = {name: found.pop(name) for name in ResultDocument.model_fields if name in found}
        return found | last
