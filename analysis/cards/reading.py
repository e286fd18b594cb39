"""Reading cards: files with one card or several, of the version that this bsx knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bsx.analysis.cards.result import SCHEMA, Card
from bsx.data.lines import NamedFile
from bsx.errors import InputError


def read_cards(paths: Sequence[str | Path]) -> list[Card]:
    """Read the cards in JSON files, each with one card, or with several under ``cards``.

    Raises:
        InputError: naming a file that holds none, or one of another version.
    """
    return [card for path in paths for card in _cards(path)]


def _cards(path: str | Path) -> Iterator[Card]:
    file = NamedFile(path)
    content: object = file.json()
    several = content.get("cards") if isinstance(content, Mapping) and "cards" in content else [content]
    if not isinstance(several, list) or not several:
        raise InputError("holds no card", file=file.name)
    for one in several:
        version = one.get("schema_version") if isinstance(one, Mapping) else None
        if version is None:
            raise InputError("is no metric card, as `bsx card` returns them", file=file.name)
        if version != SCHEMA:
            raise InputError(
                f"is a card of version {version!r}, and this bsx reads version {SCHEMA}: make it anew", file=file.name
            )
        try:
            yield Card.from_dict(one)
        except InputError as error:
            raise InputError(f"{error}", file=file.name) from error
