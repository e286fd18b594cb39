"""What the registry says about protocols: which tasks the official table of a year is made of."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from bsx.catalog.catalog import overlay_folders, shipped_folder
from bsx.catalog.entries import Entry, Listed, read_lists
from bsx.errors import UnknownNameError, did_you_mean


class ProtocolPair(Entry):
    """How one language pair is ranked.

    Attributes:
        gold: the human scores.
        reference: the reference that metrics use; as a system it is left out.
        humans: whether other human translations are ranked like systems.
        outliers: systems that are left out.
    """

    gold: str
    reference: str
    humans: bool = False
    outliers: list[str] = Field(default_factory=list)


class ProtocolTaskEntry(Entry):
    """One figure of every metric: of each language pair, or of all pairs pooled. Each pair weighs 1."""

    level: Literal["sys", "seg"]
    statistic: Literal["pairwise_accuracy", "pearson", "spa", "acc_eq"]
    pooled: bool = False

    @model_validator(mode="after")
    def _computable(self) -> ProtocolTaskEntry:
        fits = {"pairwise_accuracy": "sys", "spa": "sys", "acc_eq": "seg"}
        if fits.get(self.statistic, self.level) != self.level:
            raise ValueError(f"{self.statistic} is a figure of the level {fits[self.statistic]}")
        if self.pooled != (self.statistic == "pairwise_accuracy"):
            raise ValueError("pairwise_accuracy is pooled, and nothing else")
        return self


class ProtocolEntry(Listed):
    """One year's protocol.

    ``test_set`` is the folder of mt-metrics-eval that it is about; ``primary`` and ``baselines`` are the metrics of its
    main table, by the names of their files without the reference.
    """

    file: ClassVar[str] = "protocols.yaml"
    what: ClassVar[str] = "protocols"
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    test_set: str
    source: str
    citation: str
    language_pairs: dict[str, ProtocolPair] = Field(min_length=1)
    tasks: list[ProtocolTaskEntry] = Field(min_length=1)
    primary: list[str]
    baselines: list[str]
    notes: list[str] = Field(default_factory=list)


def load_protocols() -> dict[str, ProtocolEntry]:
    """Return the shipped protocols with those of the user's registry folders over them; see `read_lists`."""
    return read_lists(ProtocolEntry, (shipped_folder(), *overlay_folders()))


def find_protocol(name: str) -> ProtocolEntry:
    """Return a protocol; UnknownNameError lists those that there are."""
    entries = load_protocols()
    if name not in entries:
        near = did_you_mean(name, entries)
        raise UnknownNameError(f"protocol: there is no {name!r}; there are {', '.join(entries)}.{near}")
    return entries[name]
