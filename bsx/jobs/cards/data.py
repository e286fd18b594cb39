"""What a card is made from: tables told apart by their columns, and the shipped examples."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np

from bsx.analysis.datasets.challenge import ChallengeSet, load_challenge
from bsx.analysis.datasets.judged import reference_columns
from bsx.analysis.datasets.pairs import load_pairs
from bsx.analysis.datasets.triples import TripleTable, load_triples
from bsx.catalog.catalog import Catalog
from bsx.catalog.languages import find_language
from bsx.data.documents import DOCUMENTS, refuse_single
from bsx.data.lines import NamedFile
from bsx.data.long import HUMAN, SEGMENTS, SYSTEM
from bsx.data.pairing import Pairing, refuse_alike
from bsx.data.seen import RowTexts
from bsx.data.tables import TABLE_FORMATS, Row, Table
from bsx.errors import InputError, UnknownNameError
from bsx.support.checks import Array

Kind = Literal["judged", "pairs", "triples", "challenge"]


def digest_of(value: object) -> str:
    """Return the sha256 of anything that JSON can hold, in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, eq=False)
class SegmentTexts:
    """Rows to score, all in one language.

    Attributes:
        candidates: n texts; None if the table holds none.
        references: n lists of texts, or None.
        sources: n texts, or None.
    """

    candidates: list[str] | None = None
    references: Sequence[tuple[str, ...]] | None = None
    sources: list[str] | None = None

    @property
    def has(self) -> frozenset[str]:
        """What there is."""
        sides = {"candidate": self.candidates, "reference": self.references, "source": self.sources}
        return frozenset(name for name, texts in sides.items() if texts is not None)

    def at(self, rows: Sequence[int]) -> SegmentTexts:
        """Return some rows."""
        return SegmentTexts(
            None if self.candidates is None else [self.candidates[i] for i in rows],
            None if self.references is None else [self.references[i] for i in rows],
            None if self.sources is None else [self.sources[i] for i in rows],
        )

    def __len__(self) -> int:
        return 0 if self.candidates is None else len(self.candidates)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Segments, with human scores if there are any, in one language.

    Attributes:
        texts: the rows.
        human: (n,), or None.
        group: language pair of each row.
        system: system of each row, or None.
        segment: segment of each row; None if each row is one.
        columns: the table's other columns (n cells each).
        document: document of each row, or None; its segments are drawn together.
        judged: what the column of human scores is called.
    """

    texts: SegmentTexts
    human: Array | None
    group: list[str]
    system: list[str] | None
    segment: list[str] | None
    columns: Mapping[str, list[object]]
    document: list[str] | None = None
    judged: str = ""

    def __len__(self) -> int:
        return len(self.group)

    def at(self, rows: Sequence[int]) -> JudgedRows:
        """Return some rows."""
        return JudgedRows(
            self.texts.at(rows),
            None if self.human is None else self.human[list(rows)],
            [self.group[i] for i in rows],
            None if self.system is None else [self.system[i] for i in rows],
            None if self.segment is None else [self.segment[i] for i in rows],
            {name: [cells[i] for i in rows] for name, cells in self.columns.items()},
            None if self.document is None else [self.document[i] for i in rows],
            self.judged,
        )


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Labelled pairs: the second sentence is the candidate, the first what it is compared with.

    Attributes:
        texts: the rows.
        labels: 1 for a paraphrase (n,).
        columns: published scores, by name.
        notes: what a reader must know.
    """

    texts: SegmentTexts
    labels: Array
    columns: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def at(self, rows: Sequence[int]) -> LabelledPairs:
        """Return some rows."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return LabelledPairs(self.texts.at(rows), self.labels[rows], columns, self.notes)


@dataclass(frozen=True, eq=False)
class DataSet:
    """One table, or one language of it.

    Attributes:
        name: the file's name.
        kind: what it holds.
        lang: language of the texts.
        sha256: digest of the file.
        content: what was read, by kind.
        n: rows.
        examples: whether it is one of the shipped examples.
        notes: what a reader must know.
        path: the file.
    """

    name: str
    kind: Kind
    lang: str
    sha256: str
    content: JudgedRows | TripleTable | ChallengeSet | LabelledPairs
    n: int
    examples: bool = False
    notes: tuple[str, ...] = ()
    path: Path | None = None

    @cached_property
    def rows(self) -> str:
        """Digest of the rows that are used, in their order: texts, human scores, and what tells rows apart."""
        content = self.content
        if isinstance(content, JudgedRows):
            human = None if content.human is None else [repr(value) for value in content.human.tolist()]
            told: list[object] = [human, content.group, content.system, content.segment, content.document]
            if content.texts.candidates is None and human is None:
                told.append(content.columns)
        elif isinstance(content, LabelledPairs):
            told = [content.labels.tolist()]
        else:
            return digest_of(list(map(repr, content.triples if isinstance(content, TripleTable) else content.pairs)))
        texts = content.texts
        return digest_of([self.kind, *told, texts.candidates, texts.references, texts.sources])

    def row_texts(self) -> RowTexts | None:
        """Return candidates and what they are held against; None where the table holds no texts."""
        content = self.content
        if isinstance(content, JudgedRows | LabelledPairs):
            texts = content.texts
            if isinstance(content, JudgedRows) and content.human is not None and texts.candidates is not None:
                texts = texts.at(np.flatnonzero(~np.isnan(content.human)).tolist())
            if texts.candidates is None:
                return None
            return RowTexts(texts.candidates, texts.references, texts.sources)
        if isinstance(content, TripleTable):
            three = content.triples
            both = [text for t in three for text in (t.paraphrase, t.nonparaphrase)]
            return RowTexts(both, [(t.anchor,) for t in three for _ in range(2)])
        pairs = content.pairs
        both = [text for pair in pairs for text in (pair.good, pair.bad)]
        refs = [(str(pair.reference),) for pair in pairs for _ in range(2)] if "reference" in content.has else None
        return RowTexts(
            both, refs, [str(p.source) for p in pairs for _ in range(2)] if "source" in content.has else None
        )

    def limited(self, limit: int | None, seed: int) -> DataSet:
        """Return at most so many rows, drawn at random and left in their order.

        Where systems translated the same segments, whole segments are drawn: systems are compared on those they share.
        """
        if limit is None or self.n <= limit:
            return self
        draw = np.random.default_rng(seed)
        rows, what = sorted(draw.choice(self.n, limit, replace=False).tolist()), "rows"
        if isinstance(self.content, JudgedRows) and self.content.segment is not None:
            units = list(zip(self.content.group, self.content.segment, strict=True))
            sizes = Counter(units)
            if len(sizes) < 0.8 * self.n and min(sizes.values()) <= limit:
                order = list(sizes)
                kept, left = set(), limit
                for unit in (order[place] for place in draw.permutation(len(order))):
                    if sizes[unit] <= left:
                        kept.add(unit)
                        left -= sizes[unit]
                rows, what = [row for row, unit in enumerate(units) if unit in kept], "rows, whole segments"
        note = f"{len(rows)} of {self.n} {what}, drawn at random (limit {limit}, seed {seed})"
        return replace(self, content=self.content.at(rows), n=len(rows), notes=(*self.notes, note))


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
    document: str | None = None,
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
        document: column of documents; ``document``, ``doc`` or ``doc_id`` unless given.

    Returns:
        The data sets, and notes.

    Raises:
        InputError: naming a file that cannot be read, or is nothing that a card can be made from.
    """
    wanted = find_language(lang, catalog).code if lang is not None else None
    tables: list[DataSet] = []
    notes: list[str] = []
    for path in paths:
        for file in _files(path):
            try:
                tables += _read(file, catalog, wanted, (human, system, segment, document), columns)
            except _UnknownError as error:
                if not path.is_dir():
                    raise InputError(str(error)) from error
                notes.append(f"left out: {error}")
    if not paths:
        tables = [data for data in _examples() if wanted is None or data.lang == wanted]
        if not tables:
            raise InputError(f"the shipped examples hold no texts in {wanted}: name tables")
        notes.append(
            "these are the shipped examples, invented sentences with the grades that their authors meant: figures on "
            "them show how a card looks and are no evidence; give tables of your own"
        )
    if not tables:
        named = ", ".join(map(str, paths))
        raise InputError(f"{named}: holds no table with rows {'in ' + wanted if wanted else ''} to make a card from")
    notes += [
        f"{data.name}: {note}" for data in tables if isinstance(data.content, JudgedRows) for note in _odd(data.content)
    ]
    return [data.limited(limit, seed) for data in tables], notes


def _odd(rows: JudgedRows) -> Iterator[str]:
    """Say what is odd about the rows of systems, in each language pair; see `Pairing`."""
    if rows.system is None or rows.segment is None:
        return
    pairings: dict[str, Pairing] = {}
    for place, group in enumerate(rows.group):
        texts = (
            None if rows.texts.references is None else rows.texts.references[place],
            None if rows.texts.sources is None else rows.texts.sources[place],
        )
        pairings.setdefault(group, Pairing()).add(rows.system[place], rows.segment[place], texts)
    for group, pairing in pairings.items():
        yield from (f"{group}: {note}" if len(pairings) > 1 else note for note in pairing.notes())


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
    named: Sequence[str | None],
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
    texts = SegmentTexts(pairs.texts("candidate"), [(text,) for text in pairs.texts("reference")])
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
    named: Sequence[str | None],
) -> Iterator[DataSet]:
    candidate, references, source, usual = _sides(table)
    human, system, segment, document = named
    table.require(*(name for name in named if name is not None))
    human = human if human is not None else usual
    if candidate is None and human is None:
        columns = ", ".join(table.columns[:12]) + (", …" if len(table.columns) > 12 else "")
        raise _UnknownError(f"{path}: has the columns {columns}, by which a card knows no table; it knows {_LAYOUTS}")
    if candidate is not None and not references and source is None:
        raise _UnknownError(f"{path}: has candidates, but neither references nor sources to compare them with")
    rows = list(table.rows())
    if not rows:
        raise InputError("has a header but no rows", file=path)
    segment = segment if segment is not None else table.first(*SEGMENTS)
    system = system if system is not None else table.first(SYSTEM)
    told = document is not None
    document = document if told else table.first(*DOCUMENTS)
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
        texts = SegmentTexts()
        if candidate is not None:
            texts = SegmentTexts(
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
            None if human is None else np.array([row.number(human) for row in some]),
            [groups[i] for i in places],
            None if system is None or units is None else [row.name(system) for row in some],
            units if units is not None and (system is not None or _shared(units, groups, places)) else None,
            {name: [row[name] for row in some] for name in table.columns},
            None if document is None else _documents(some, groups, places, document, path, told=told),
            human or "",
        )
        for kind, names in (("lp", content.group), (system, content.system), (segment, content.segment)):
            refuse_alike(names or (), f"{path}, column {kind!r}")
        yield DataSet(path.name, "judged", _code(target, catalog), digest, content, len(some), path=path)


def _shared(units: Sequence[str], groups: Sequence[str], places: Sequence[int]) -> bool:
    """Tell whether rows without systems are of the same segments."""
    return len({(groups[place], unit) for place, unit in zip(places, units, strict=True)}) < len(units)


def _documents(
    rows: Sequence[Row], groups: Sequence[str], places: Sequence[int], column: str, path: Path, *, told: bool
) -> list[str] | None:
    """Return the document of each row, named within its language pair; None if a usual column names but one.

    Raises:
        InputError: if the user named a column with one document.
    """
    names = [row.name(column) for row in rows]
    refuse_alike(names, f"{path}, column {column!r}")
    if told:
        refuse_single(names, column, str(path))
    if len(set(names)) < 2:
        return None
    return [f"{groups[place]} {name}" for place, name in zip(places, names, strict=True)]


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
            texts = SegmentTexts(
                [row.text(system) for row, system in rows], [(row.text("reference"),) for row, _ in rows]
            )
            human = np.array([row.number(f"{system}_grade") for row, system in rows])
            segments = [row.name("id") for row, _ in rows]
            content = JudgedRows(texts, human, ["all"] * len(rows), [system for _, system in rows], segments, {})
            yield DataSet(name, "judged", lang, _digest(path), content, len(rows), True)
