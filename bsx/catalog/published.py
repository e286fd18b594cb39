"""What the registry says about metrics of which scores are published, and which do not run here."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries import Entry, Listed, read_lists
from bsx.catalog.entries.metrics import Need

Text = Annotated[str, Field(min_length=1)]


class Fact(Entry):
    """One fact, and who says so."""

    says: Text
    source: Text


class PublishedEntry(Listed):
    """A metric that others run, with the names of its published scores.

    ``called`` is what its columns are called, without the reference, and ``test_sets`` where they are; ``run`` is how
    its authors run it, and ``here`` a metric of the zoo that runs the same model, or one like it. ``control`` marks
    what cannot know how good a translation is. What nobody says is left out.
    """

    file: ClassVar[str] = "published.yaml"
    what: ClassVar[str] = "published metrics"
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: Text
    needs: list[Need]
    control: bool = False
    about: Fact
    licence: Fact | None = None
    size: Fact | None = None
    run: Fact | None = None
    here: str | None = None
    called: list[Text] = Field(min_length=1)
    test_sets: list[Text] = Field(min_length=1)
    citation: Text
    notes: str | None = None

    @property
    def scores(self) -> str:
        """Where its scores are, and how they are used."""
        sets = " and ".join(self.test_sets)
        return (
            f"its scores are published for {sets}, as the columns {', '.join(self.called)}: bsx meta FILE --columns …"
        )


def published_metrics(catalog: Catalog) -> dict[str, PublishedEntry]:
    """Return the published metrics of the registry's folders by name; see `read_lists`."""
    entries = read_lists(PublishedEntry, catalog.folders)
    return {name: entry for name, entry in entries.items() if name not in catalog.metrics}


def find_published(name: str, catalog: Catalog) -> PublishedEntry | None:
    """Return the published metric of that name, or that a table calls so; None if there is none."""
    entries = published_metrics(catalog)
    if name in entries:
        return entries[name]
    folded = name.casefold()
    return next((entry for entry in entries.values() if folded in (entry.name, *map(str.casefold, entry.called))), None)
