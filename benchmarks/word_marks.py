"""Words that people marked as errors, of thirteen language pairs, as rows of one form for `benchmarks/explanations.py`.

A row has ``source``, ``candidate``, ``target_tags`` and, where people marked sources too, ``source_tags``: 1 (an error)
or 0 for each word that white space parts. Error spans become tags: a word is marked if it touches a span.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Row = dict[str, str]
LONGEST = 60  # words of a text: paragraphs of WMT23 are left out


@dataclass(frozen=True)
class MarkedPart:
    """One data set of marked words.

    Attributes:
        pair: the languages, source first.
        data: where the marks are from, with the year.
        marks: ``post-edits``, ``annotators`` or ``spans``.
        read: from the data folder to all rows.
        most: rows drawn with seed 1.
    """

    pair: str
    data: str
    marks: str
    read: Callable[[Path], list[Row]]
    most: int

    def rows(self, data: Path) -> list[Row]:
        """Return the rows drawn, in the file's order."""
        rows = [row for row in self.read(data) if max(len(row[side].split()) for side in SIDES) <= LONGEST]
        drawn = np.random.default_rng(1).permutation(len(rows))[: self.most]
        return [rows[place] for place in sorted(drawn)]


SIDES = ("candidate", "source")


def rows_of(file: Path) -> list[Row]:
    """Read an unquoted TSV, gzipped or not."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def eval4nlp(pair: str, part: str) -> Callable[[Path], list[Row]]:
    """Return how to read one file of the shared task Eval4NLP 2021."""
    name = f"{pair}-{part}.tsv{'.gz' if part == 'train' else ''}"
    return lambda data: rows_of(data / "eval4nlp" / name)


def quality(pair: str) -> Callable[[Path], list[Row]]:
    """Return how to read one of WMT's quality-estimation sets; the end marker and its tag are dropped."""

    def read(data: Path) -> list[Row]:
        found = []
        for row in rows_of(data / "qe" / f"{pair}.tsv"):
            words, tags = row["candidate"].split(), row["target_tags"].split()
            if words and words[-1] == "<EOS>":
                words, tags = words[:-1], tags[:-1]
            if words and len(words) == len(tags):
                kept = {"source": row["source"], "candidate": " ".join(words), "target_tags": " ".join(tags)}
                found.append(kept | ({"source_tags": row["source_tags"]} if row["source_tags"] else {}))
        return found

    return read


def of_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the tags of a text's words: 1 for those that touch a span of characters, whose end is outside."""
    ends = list(spans)
    tags = [any(low < word.end() and high > word.start() for low, high in ends) for word in re.finditer(r"\S+", text)]
    return " ".join(str(int(tag)) for tag in tags)


def spanned(row: Row, spans: Iterable[tuple[int, int]]) -> Row:
    """Return a row with its spans as tags."""
    kept = {name: row[name] for name in (*SIDES, "reference") if name in row}
    return {**kept, "target_tags": of_spans(row["candidate"], spans)}


def biomedical(pair: str) -> Callable[[Path], list[Row]]:
    """Return how to read one pair of WMT21's biomedical MQM."""

    def read(data: Path) -> list[Row]:
        keys = ("system", "doc", "seg", "annotator")
        spans: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for one in rows_of(data / "biomqm" / f"{pair}.spans.tsv"):
            if one["start"].isdigit() and one["end"].isdigit():
                of = spans.setdefault(tuple(one[key] for key in keys), [])
                of.append((int(one["start"]), int(one["end"]) + 1))
        rows = rows_of(data / "biomqm" / f"{pair}.tsv")
        return [spanned(row, spans.get(tuple(row[key] for key in keys), [])) for row in rows]

    return read


def indic(language: str) -> Callable[[Path], list[Row]]:
    """Return how to read one language of IndicMT-Eval; spans are found by their text, where it stands once."""

    def read(data: Path) -> list[Row]:
        texts: dict[str, list[str]] = {}
        for one in rows_of(data / "indicmt" / f"{language}.spans.tsv"):
            texts.setdefault(one["id"], []).append(one["text"].strip())
        found = []
        for row in rows_of(data / "indicmt" / f"{language}.tsv"):
            parts = texts.get(row["id"], [])
            if all(part and row["candidate"].count(part) == 1 for part in parts):
                places = [row["candidate"].index(part) for part in parts]
                found.append(spanned(row, [(at, at + len(part)) for at, part in zip(places, parts, strict=True)]))
        return found

    return read


def wmt23(data: Path) -> list[Row]:
    """Return outputs of WMT23 en-de with the spans of the first ESA campaign."""
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    judged = {(row["system"], row["seg"]) for row in rows_of(data / "esa" / "en-de.scores.tsv") if row["ESA-1"]}
    for one in rows_of(data / "esa" / "en-de.spans.tsv"):
        if one["protocol"] == "ESA-1" and one["start"].isdigit() and one["end"].isdigit():
            spans.setdefault((one["system"], one["seg"]), []).append((int(one["start"]), int(one["end"]) + 1))
    texts = {(row["system"], row["seg"]): row for row in rows_of(data / "wmt23" / "en-de.texts.tsv.gz")}
    return [spanned(texts[key], spans.get(key, [])) for key in sorted(judged & set(texts))]


def ted(data: Path) -> list[Row]:
    """Return translations of TED talks (WMT21) with MQM spans, those without an error among them; with references."""
    spans: dict[tuple[str, str], list[Row]] = {}
    for row in rows_of(data / "mqm" / "ted-en-de.spans.tsv"):
        spans.setdefault((row["system"], row["seg"]), []).append(row)
    plain = {key: re.sub(r"</?v>", "", found[0]["target"]) for key, found in spans.items()}
    rows = []
    for (system, seg), found in spans.items():
        marked = [one["target"] for one in found if "<v>" in one["target"]]
        if system == "ref" or any(plain[system, seg] != re.sub(r"</?v>", "", one) for one in marked):
            continue
        words = [tags_of(one) for one in marked] or [[False] * len(plain[system, seg].split())]
        rows.append(
            {
                "source": re.sub(r"</?v>", "", found[0]["source"]),
                "candidate": plain[system, seg],
                "reference": plain["ref", seg],
                "target_tags": " ".join(str(int(any(of))) for of in zip(*words, strict=True)),
            }
        )
    return rows


def tags_of(text: str) -> list[bool]:
    """Return which words of a text with <v>…</v> touch a marked part."""
    found, inside = [], False
    for word in text.split():
        parts = re.split(r"(</?v>)", word)
        touched = False
        for part in parts:
            if part in ("<v>", "</v>"):
                inside = part == "<v>"
            elif part:
                touched = touched or inside
        found.append(touched)
    return found


PARTS = {
    "ne-en-qe": MarkedPart("ne-en", "MLQE-PE test 2021", "post-edits", quality("ne-en"), 350),
    "en-yo-qe": MarkedPart("en-yo", "WMT22 quality estimation, test", "post-edits", quality("en-yo"), 350),
    "en-hi-mqm": MarkedPart("en-hi", "IndicMT-Eval 2023", "spans", indic("hi"), 300),
    "en-de-ted": MarkedPart("en-de", "TED talks WMT21", "spans", ted, 300),
    "ro-en-train": MarkedPart("ro-en", "Eval4NLP 2021, train", "post-edits", eval4nlp("ro-en", "train"), 600),
    "ro-en-test": MarkedPart("ro-en", "Eval4NLP 2021, test", "annotators", eval4nlp("ro-en", "test21"), 300),
    "en-fr-bio": MarkedPart("en-fr", "WMT21 biomedical", "spans", biomedical("en-fr"), 300),
    "en-mr-mqm": MarkedPart("en-mr", "IndicMT-Eval 2023", "spans", indic("mr"), 300),
    "km-en-qe": MarkedPart("km-en", "WMT22 quality estimation, test", "post-edits", quality("km-en"), 350),
    "en-mr-qe": MarkedPart("en-mr", "WMT22 quality estimation, test", "post-edits", quality("en-mr"), 350),
    "et-en-train": MarkedPart("et-en", "Eval4NLP 2021, train", "post-edits", eval4nlp("et-en", "train"), 600),
    "et-en-test": MarkedPart("et-en", "Eval4NLP 2021, test", "annotators", eval4nlp("et-en", "test21"), 300),
    "ps-en-qe": MarkedPart("ps-en", "WMT22 quality estimation, test", "post-edits", quality("ps-en"), 350),
    "en-ta-mqm": MarkedPart("en-ta", "IndicMT-Eval 2023", "spans", indic("ta"), 300),
    "en-ru-bio": MarkedPart("en-ru", "WMT21 biomedical", "spans", biomedical("en-ru"), 300),
    "de-en-bio": MarkedPart("de-en", "WMT21 biomedical", "spans", biomedical("de-en"), 350),
    "en-de-wmt": MarkedPart("en-de", "WMT23, ESA", "spans", wmt23, 250),
}
"""Name -> data set, of which training and evaluation draw; the end part of a name is not a language."""
