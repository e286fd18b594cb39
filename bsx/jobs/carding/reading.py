"""Tables for cards, told apart by their columns, and the shipped examples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from bsx.analysis.datasets.challenge import ChallengeSet, load_challenge
from bsx.analysis.datasets.judged import reference_columns
from bsx.analysis.datasets.pairs import load_pairs
from bsx.analysis.datasets.triples import TripleTable, load_triples
from bsx.catalog.catalog import Catalog
from bsx.catalog.languages import find_language
from bsx.data.lines import NamedFile
from bsx.data.long import HUMAN, SEGMENTS, SYSTEM
from bsx.data.pairing import Pairing, refuse_alike
from bsx.data.tables import TABLE_FORMATS, Table
from bsx.errors import InputError, UnknownNameError
from bsx.jobs.carding.data import DataSet, JudgedRows, Kind, LabelledPairs, RowTexts

_LAYOUTS = (
    "judged texts: candidate, reference or source, human, and perhaps lp, system, segment; published scores: human and "
    "the columns of scores; pairs: sentence1 sentence2 label; triples: anchor paraphrase nonparaphrase; a challenge "
    "set: good bad phenomenon, and reference or source"
)


def read_data(
    paths: Sequence[Path],
    catalog: Catalog,
    *,
    lang: str | None,
    human: str | None,
    columns: Sequence[str],
    limit: int | None,
    seed: int,
    system: str | None = None,
    segment: str | None = None,
) -> tuple[list[DataSet], list[str]]:
    """Read tables and folders of tables; what each is, its columns say.

    Args:
        paths: tables, or folders; without any, the shipped examples are read.
        catalog: the registry, for languages.
        lang: language of the texts; rows of a column lp into another are left out.
        human: column of human scores; human, human_z or z unless given.
        columns: columns of published scores that are wanted.
        limit: at most so many rows of each language of a table, drawn at random.
        seed: of the draw.
        system: column of systems; ``system`` unless given.
        segment: column of segments; ``segment``, ``sid`` or ``id`` unless given.

    Returns:
        The data sets, and notes.

    Raises:
        InputError: naming a file that cannot be read, or is nothing that a card can be made from.
    """
    wanted = find_language(lang, catalog).code if lang is not None else None
    found: list[DataSet] = []
    notes: list[str] = []
    for path in paths:
        for file in _files(path):
            try:
                found += _read(file, catalog, wanted, (human, system, segment), columns)
            except _UnknownError as error:
                if not path.is_dir():
                    raise InputError(str(error)) from error
                notes.append(f"left out: {error}")
    if not paths:
        found = [one for one in _examples() if wanted is None or one.lang == wanted]
        if not found:
            raise InputError(f"the shipped examples hold no texts in {wanted}: name tables with data")
        notes.append(
            "these are the shipped examples, invented sentences with the grades that their authors meant: figures on "
            "them show how a card looks and are no evidence; data=FILE names tables of your own"
        )
    if not found:
        named = ", ".join(map(str, paths))
        raise InputError(f"{named}: holds no table with rows {'in ' + wanted if wanted else ''} to make a card from")
    notes += [
        f"{one.name}: {note}" for one in found if isinstance(one.content, JudgedRows) for note in _odd(one.content)
    ]
    return [one.limited(limit, seed) for one in found], notes


def _odd(rows: JudgedRows) -> Iterator[str]:
    """Say what is odd about the rows of systems, in each language pair; see `Pairing`."""
    if rows.system is None or rows.segment is None:
        return
    found: dict[str, Pairing] = {}
    for place, group in enumerate(rows.group):
        texts = (
            None if rows.texts.references is None else rows.texts.references[place],
            None if rows.texts.sources is None else rows.texts.sources[place],
        )
        found.setdefault(group, Pairing()).add(rows.system[place], rows.segment[place], texts)
    for group, pairing in found.items():
        yield from (f"{group}: {note}" if len(found) > 1 else note for note in pairing.notes())


class _UnknownError(Exception):
    """A table that is nothing a card can be made from."""


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    tables = sorted(file for file in path.iterdir() if file.is_file() and NamedFile(file).suffix in TABLE_FORMATS)
    if tables:
        yield from tables
    elif any(path.glob("*.json")):
        yield path  # DEMETR is a folder
    else:
        raise InputError(f"the folder holds no table ({', '.join(TABLE_FORMATS)})", file=path)


def _digest(path: Path) -> str:
    if not path.is_dir():
        return NamedFile(path).digest()
    whole = hashlib.sha256()
    for file in sorted(path.glob("*.json")):
        whole.update(NamedFile(file, found=True).digest().encode())
    return whole.hexdigest()


def _read(
    path: Path,
    catalog: Catalog,
    lang: str | None,
    named: tuple[str | None, str | None, str | None],
    columns: Sequence[str],
) -> Iterator[DataSet]:
    digest = _digest(path)
    if path.is_dir() or NamedFile(path).suffix == ".json":
        yield from _challenge(path, digest, lang, ())
        return
    table = Table(path)
    there = set(table.columns)
    if there & {"good", "good-translation"} and there & {"bad", "incorrect-translation"}:
        sides = [name for name in columns if {f"{name}-good", f"{name}-bad"} <= there]
        yield from _challenge(path, digest, lang, sides)
    elif {"anchor", "paraphrase", "nonparaphrase"} <= there:
        yield from _triples(path, digest, lang, load_triples(path, []), _languages(table, catalog))
    elif {"question1", "question2", "is_duplicate"} <= there or (
        {"sentence1", "sentence2"} <= there and there & {"label", "noisy_label"}
    ):
        yield from _labelled(table, path, digest, catalog, lang, [name for name in columns if name in there])
    else:
        yield from _judged(table, path, digest, catalog, lang, named)


def _languages(table: Table, catalog: Catalog) -> list[str] | None:
    """Return the language of each row, if a column lang says so."""
    return [_code(row.name("lang"), catalog) for row in table.rows()] if "lang" in table.columns else None


def _triples(
    path: Path, digest: str, lang: str | None, every: TripleTable, langs: Sequence[str] | None
) -> Iterator[DataSet]:
    of = [lang or "en" if langs is None else langs[triple.row - 1] for triple in every.triples]
    return _by_language(path, "triples", digest, lang, of, every)


def _by_language(
    path: Path,
    kind: Kind,
    digest: str,
    lang: str | None,
    of: Sequence[str],
    every: LabelledPairs | TripleTable | ChallengeSet,
) -> Iterator[DataSet]:
    """Yield the rows of each language, told by the language of each row, or those of the one that is wanted."""
    for target in dict.fromkeys(of):
        if lang in (None, target):
            rows = [i for i, own in enumerate(of) if own == target]
            yield DataSet(path.name, kind, target, digest, every.at(rows), len(rows), notes=every.notes, path=path)


def _labelled(
    table: Table, path: Path, digest: str, catalog: Catalog, lang: str | None, columns: Sequence[str]
) -> Iterator[DataSet]:
    langs = _languages(table, catalog)
    try:
        triples = load_triples(path, columns)
    except (InputError, UnknownNameError):
        pass  # some sentence has not as many paraphrases as others: these are pairs
    else:
        yield from _triples(path, digest, lang, triples, langs)
        return
    pairs = load_pairs(path, metrics=columns)
    texts = RowTexts(pairs.texts("candidate"), [(text,) for text in pairs.texts("reference")])
    scores = {name: pairs.numbers(name) for name in columns}
    every = LabelledPairs(texts, pairs.numbers("label"), scores, pairs.notes)
    yield from _by_language(path, "pairs", digest, lang, langs or [lang or "en"] * len(pairs), every)


def _challenge(path: Path, digest: str, lang: str | None, columns: Sequence[str]) -> Iterator[DataSet]:
    every = load_challenge(path, columns)
    # A language pair says which language the translations are in; a language, which the sources are in (DEMETR).
    of = [pair.lang.rpartition("-")[2] if "-" in pair.lang else (lang or "en") for pair in every.pairs]
    return _by_language(path, "challenge", digest, lang, of, every)


def _judged(
    table: Table,
    path: Path,
    digest: str,
    catalog: Catalog,
    lang: str | None,
    named: tuple[str | None, str | None, str | None],
) -> Iterator[DataSet]:
    candidate, references, source, people = _sides(table)
    human, system, segment = named
    table.require(*(name for name in named if name is not None))
    people = human if human is not None else people
    if candidate is None and people is None:
        columns = ", ".join(table.columns[:12]) + (", …" if len(table.columns) > 12 else "")
        raise _UnknownError(f"{path}: has the columns {columns}, by which a card knows no table; it knows {_LAYOUTS}")
    if candidate is not None and not references and source is None:
        raise _UnknownError(f"{path}: has candidates, but neither references nor sources to compare them with")
    rows = list(table.rows())
    if not rows:
        raise InputError("has a header but no rows", file=path)
    segment = segment if segment is not None else table.first(*SEGMENTS)
    system = system if system is not None else table.first(SYSTEM)
    apart: dict[str, list[int]] = {}
    groups = []
    for place, row in enumerate(rows):
        group = row.name("lp") if "lp" in table.columns else "all"
        target = group.rpartition("-")[2] if "-" in group else row.name("lang") if "lang" in table.columns else None
        groups.append(group)
        apart.setdefault(target or lang or "en", []).append(place)
    for target, places in apart.items():
        if lang is not None and _code(target, catalog) != lang:
            continue
        some = [rows[i] for i in places]
        texts = RowTexts()
        if candidate is not None:
            texts = RowTexts(
                [row.text(candidate) for row in some],
                [tuple(text for name in references for text in row.texts(name) if text) for row in some]
                if references
                else None,
                [row.text(source) for row in some] if source is not None else None,
            )
        units = [row.name(segment) for row in some] if segment is not None else None
        if units is None and system is not None:
            units = texts.sources or ([refs[0] for refs in texts.references] if texts.references else None)
        content = JudgedRows(
            texts,
            None if people is None else np.array([row.number(people) for row in some]),
            [groups[i] for i in places],
            None if system is None or units is None else [row.name(system) for row in some],
            units if system is not None else None,
            {name: [row[name] for row in some] for name in table.columns},
        )
        for kind, names in (("lp", content.group), (system, content.system), (segment, content.segment)):
            refuse_alike(names or (), f"{path}, column {kind!r}")
        yield DataSet(path.name, "judged", _code(target, catalog), digest, content, len(some), path=path)


def _code(target: str, catalog: Catalog) -> str:
    try:
        return find_language(target, catalog).code
    except UnknownNameError:
        return target


def _sides(table: Table) -> tuple[str | None, list[str], str | None, str | None]:
    """Return the columns of candidates, references, sources, and of human scores if the layout names them."""
    if {"sentence1", "sentence2"} <= set(table.columns):
        return "sentence1", ["sentence2"], None, table.first("score")
    return table.first("candidate"), reference_columns(table.columns), table.first("source"), table.first(*HUMAN)


_EXAMPLES = (("en-systems.tsv", "en"), ("de-systems.tsv", "de"), ("en-triples.tsv", "en"))
_SYSTEMS = ("atlas", "brook", "cinder")


def _examples() -> Iterator[DataSet]:
    """Yield the shipped examples: three systems' candidates of the same segments, and triples."""
    for name, lang in _EXAMPLES:
        with resources.as_file(resources.files("bsx.examples").joinpath(name)) as path:
            if name.endswith("triples.tsv"):
                triples = load_triples(path, [])
                yield DataSet(name, "triples", lang, _digest(path), triples, len(triples.triples), True)
                continue
            rows = [(row, system) for row in Table(path).rows() for system in _SYSTEMS]
            texts = RowTexts([row.text(system) for row, system in rows], [(row.text("reference"),) for row, _ in rows])
            human = np.array([row.number(f"{system}_grade") for row, system in rows])
            segments = [row.name("id") for row, _ in rows]
            content = JudgedRows(texts, human, ["all"] * len(rows), [system for _, system in rows], segments, {})
            yield DataSet(name, "judged", lang, _digest(path), content, len(rows), True)
