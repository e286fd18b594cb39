"""Entries of what computes columns: metrics, saved ensembles, linguistic factors."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from bsx.catalog.combination import Combination
from bsx.catalog.entries.base import Code, Entry, Sha256
from bsx.catalog.entries.evidence import Evidence


class Check(Entry):
    """Scores that the metric must give again, on a fixed input (`model`: the recipe of the tests' tiny model)."""

    model: str | None = None
    settings: dict[str, str | int | float | bool] = {}
    candidates: list[str]
    references: list[str] | None = None
    sources: list[str] | None = None
    values: list[float] | None
    tolerance: float = 1e-4


Need = Literal["candidate", "reference", "source"]


class MetricEntry(Entry):
    """One metric: what it is, what it needs, and which code computes it.

    ``implementation`` is ``module:Class``; ``defaults`` replace defaults of that class's settings. ``empty`` is what a
    text without content scores (None: the metric says so itself). ``model`` is the encoder of the paper, ``languages``
    those that this encoder (or the metric) is made for, and ``languages_source`` is who says so. ``extra`` brings the
    packages it needs; ``needs_hub`` says that its own model comes from a hub only. ``evidence`` is how well it agrees
    with people, as published. ``check`` holds scores that tests reproduce.
    """

    name: str
    title: str
    implementation: str
    defaults: dict[str, str | int | float | bool] = {}
    needs: list[Need]
    higher_is_better: bool = True
    low: float | None = None
    high: float | None = None
    empty: float | None = 0.0
    model: str | None = None
    languages: list[Code] | Literal["any"] = "any"
    languages_source: str | None = None
    extra: str | None = None
    needs_hub: bool = False
    citation: str
    evidence: list[Evidence] = []
    notes: str | None = None
    check: Check

    @model_validator(mode="after")
    def _sensible(self) -> MetricEntry:
        if "candidate" not in self.needs or len(set(self.needs)) < 2 or len(set(self.needs)) != len(self.needs):
            raise ValueError("needs must name candidate, and reference or source or both, once each")
        if self.implementation.count(":") != 1:
            raise ValueError(f"implementation must be module:Class, is {self.implementation!r}")
        return self


class EnsembleOrigin(Entry):
    """What a saved ensemble was fitted on: rows, the column of human scores, files with digests, command, versions.

    ``signatures`` says what each member's scores were computed with, where the table said so; ``seen`` is the sha256 of
    the file beside the entry with digests of the rows that weights were fitted to.
    """

    rows: int
    human: str
    files: list[dict[str, str]]
    command: str
    versions: dict[str, str]
    signatures: dict[str, str] = {}
    seen: Sha256 | None = None


class EnsembleEntry(Entry):
    """A saved ensemble: its members as `bsx.get_metric` calls them, with normalisation and weights."""

    name: str
    combination: Combination
    fitted: EnsembleOrigin
    notes: str | None = None


class FactorEntry(Entry):
    """One linguistic factor: what it is, what it reads, and which code computes it.

    ``implementation`` is ``module:Class``; ``reads`` what it needs beside the two sentences; ``presets`` are named sets
    of settings, ``default`` the one that holds unless the user names another. ``low`` and ``high`` bound its scores.
    """

    name: str
    title: str
    implementation: str
    reads: list[Literal["parses", "vectors", "human", "translation", "parallel"]] = []
    presets: dict[str, dict[str, str | int | float | bool]]
    default: str
    low: float | None = None
    high: float | None = None
    extra: str | None = None
    citation: str
    notes: str | None = None

    @model_validator(mode="after")
    def _sensible(self) -> FactorEntry:
        if self.implementation.count(":") != 1:
            raise ValueError(f"implementation must be module:Class, is {self.implementation!r}")
        if self.default not in self.presets:
            raise ValueError(f"default names no preset: {self.default!r} is not one of {', '.join(self.presets)}")
        return self
