"""What was published of how often people agree with a difference between systems: studies, and their curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries import Code, Entry, Listed, read_lists
from bsx.support.provenance import SOFTWARE, Signature

_UNASKED = SOFTWARE | {"metric", "note"}
Percent = Annotated[float, Field(ge=0, le=100)]
Wanted = Literal["any"] | list[str]
"""What a signature's field may say."""


class SubsetAccuracy(Entry):
    """Percent of the pairs in which metric and people agree: of all, of versions of one system, of unrelated ones."""

    all: Percent
    versions: Percent
    unrelated: Percent


class CurveEntry(Entry):
    """One metric's curve: percent of pairs in which people agree with a difference of d points, a / (1 + exp(-b d)).

    ``scale`` is how many points of the curve are one point of the metric here, and ``system`` what a system's score has
    to be. ``settings`` is what a signature of the metric must say, field by field, and ``by_language`` what it must say
    in some languages; ``metric`` is null where no metric here is known to be the one that was studied.
    """

    name: str
    called: str
    version: str
    a: Percent
    b: Annotated[float, Field(gt=0)]
    scale: Annotated[float, Field(gt=0)] | None
    accuracy: SubsetAccuracy
    metric: str | None
    system: Literal["corpus", "mean"] = "mean"
    settings: dict[str, Wanted] = Field(default_factory=dict)
    by_language: dict[Code, dict[str, Wanted]] = Field(default_factory=dict)

    def covers(self, signature: Signature, language: str | None = None) -> bool:
        """Tell whether scores of this signature are of the metric and settings that were studied.

        ``language`` is the code of that of the texts, if it is known.
        """
        if self.metric is None or self.scale is None or signature.get("metric") != self.metric:
            return False
        wanted: Mapping[str, Wanted] = self.settings | self.by_language.get(language or "", {})
        # Where the language is unknown, what any of the languages asks for will do, setting by setting.
        studied = [self.settings, *self.by_language.values()] if language is None else [wanted]
        signed = {name: value for name, value in signature.fields if name not in _UNASKED}
        # A hub model is called by its name and commit; a folder may be called like one, and hold another.
        if "model" in signed:
            signed["model"] = signed["model"].partition("@hub-")[0]
        return signed.keys() == wanted.keys() and all(
            any(settings.get(name) == "any" or signed[name] in settings.get(name, ()) for settings in studied)
            for name in wanted
        )


class StudyEntry(Listed):
    """A study of how often people agree with differences between systems; ``fewest_segments`` is its own advice."""

    file: ClassVar[str] = "thresholds.yaml"
    what: ClassVar[str] = "studies"
    name: str
    called: str
    citation: str
    source: str
    data: str
    population: str
    system_pairs: Annotated[int, Field(ge=1)]
    languages: Annotated[int, Field(ge=1)]
    fewest_segments: Annotated[int, Field(ge=1)]
    fewest_source: str
    curves: list[CurveEntry]


def covering(catalog: Catalog, signature: str, language: str | None = None) -> Iterator[tuple[StudyEntry, CurveEntry]]:
    """Yield the curves that scores of a signature are covered by, each with its study."""
    read = Signature.read(signature)
    for study in read_lists(StudyEntry, catalog.folders).values():
        for curve in study.curves:
            if curve.covers(read, language):
                yield study, curve
