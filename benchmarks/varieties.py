"""Do metrics still rank a faithful text above an unrelated one if it is romanised, code-switched or spelled otherwise?

Run: python benchmarks/varieties.py --data DATA [-o FILE]

DATA holds ud/ with the parallel treebanks PUD of English, German and Chinese, and indicmt/. Each reference is scored
against itself in another form, and against another reference of about its length, as it is and in that form. Writes
benchmarks/results/varieties.json and the tables of docs/score/varieties.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bsx.analysis import perturb
from bsx.analysis.stats.preference import wilson_interval
from bsx.data.output import atomic_text
from bsx.metrics.base import get_metrics

RESULT = Path(__file__).with_name("results") / "varieties.json"
PAGE = Path(__file__).parents[1] / "docs/score/varieties.md"
MARKS = ("<!-- measured -->", "<!-- /measured -->")
TREEBANKS = {"en": "UD_English-PUD/en", "de": "UD_German-PUD/de", "zh": "UD_Chinese-PUD/zh"}
MOST = 200  # texts of a case
OPENING = ("“", "(", "《", "「", "‘", "[")
SWAPPED = ("nsubj", "obj")
COLUMNS = ("chrf", "sentbleu", "bertscore", "sentence")


@dataclass(frozen=True)
class Case:
    """References, and the same texts, or their translations, in another form.

    Attributes:
        name: what the faithful texts are.
        lang: language of the references.
        model: of the metrics that encode.
        references: n texts.
        faithful: n faithful texts in the other form.
    """

    name: str
    lang: str
    model: str
    references: Sequence[str]
    faithful: Sequence[str]


@dataclass(frozen=True)
class Unit:
    """A token as it is written, which may hold several words."""

    form: str
    space: bool
    words: range


@dataclass(frozen=True)
class Tree:
    """A sentence of a treebank: its tokens, and of each word the head, the relation and the part of speech."""

    text: str
    units: Sequence[Unit]
    heads: Sequence[int]
    relations: Sequence[str]
    upos: Sequence[str]
    latin: str

    def phrase(self, relation: str) -> range | None:
        """Return the tokens of the only noun phrase with a relation to the root; None if it is not in one piece."""
        roots = {at for at, head in enumerate(self.heads, 1) if head == 0}
        found = [at for at, head in enumerate(self.heads, 1) if head in roots and self.relations[at - 1] == relation]
        if len(found) != 1 or self.upos[found[0] - 1] not in ("NOUN", "PROPN"):
            return None
        inside = {found[0]}
        while more := {at for at, head in enumerate(self.heads, 1) if head in inside} - inside:
            inside |= more
        touched = [place for place, unit in enumerate(self.units) if inside & set(unit.words)]
        span = range(touched[0], touched[-1] + 1)
        covered = {word for place in span for word in self.units[place].words}
        return span if covered == inside else None


def joined(units: Sequence[Unit]) -> str:
    return "".join(unit.form + " " * unit.space for unit in units).strip()


def trees(file: Path) -> list[Tree]:
    """Return the sentences of a treebank."""
    found = []
    for block in file.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        text = next(line[9:] for line in block.split("\n") if line.startswith("# text = "))
        words = [row for row in rows if row[0].isdigit()]
        units: list[Unit] = []
        for row in rows:
            first, _, last = row[0].partition("-")
            if "." not in first and not (units and int(first) in units[-1].words):
                place = range(int(first), int(last or first) + 1)
                units.append(Unit(row[1], "SpaceAfter=No" not in row[9].split("|"), place))
        found.append(
            Tree(
                text,
                units,
                [int(row[6]) for row in words],
                [row[7].partition(":")[0] for row in words],
                [row[3] for row in words],
                romanised(words),
            )
        )
    return found


def romanised(words: Sequence[Sequence[str]]) -> str:
    """Return the treebank's own romanisation, word by word as it is printed; marks stand at the word before them."""
    pieces: list[str] = []
    for row in words:
        latin = next((part[9:] for part in row[9].split("|") if part.startswith("Translit=")), "").lstrip("'")
        close = row[3] == "PUNCT" or (pieces and pieces[-1].strip() in OPENING)
        pieces.append(f" {latin}" if latin in OPENING or not close else latin)
    return "".join(pieces).strip()


def typed(text: str) -> str:
    """Return a text without marks over or under its letters."""
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))


def in_latin(text: str) -> str:
    """Return Devanagari in Latin letters, much as people type it.

    Letters are read from their names in Unicode. The vowel *a* of a consonant is left out at the end of a word,
    retroflex letters are not told from dental ones.
    """
    out: list[str] = []
    open_vowel = False  # a consonant whose "a" was not written yet
    for one in unicodedata.normalize("NFD", text):
        name = unicodedata.name(one, "")
        if not name.startswith("DEVANAGARI"):
            open_vowel = False  # at the end of a word
            out.append(one)
            continue
        kind, letter = name.split()[1], name.split()[-1].lower()
        if kind == "DANDA":
            open_vowel = False
            out.append(".")
        elif kind == "DIGIT":
            out.append(str(unicodedata.digit(one)))
        elif letter in ("virama", "nukta", "avagraha"):
            open_vowel = open_vowel and letter != "virama"
        elif letter in ("anusvara", "candrabindu", "visarga"):
            out.append("a" * open_vowel + ("h" if letter == "visarga" else "n"))
            open_vowel = False
        elif "VOWEL SIGN" in name:
            out.append("ri" if "VOCALIC" in name else letter)
            open_vowel = False
        else:
            out.append("a" * open_vowel)
            consonant = letter.endswith("a") and letter not in ("a", "aa")
            spelled = "ri" if "VOCALIC" in name else letter[:-1] if consonant else letter
            spelled = {"ss": "sh", "c": "ch"}.get(spelled, re.sub(r"^(t|d|n|l|r)\1", r"\1", spelled))
            out.append(spelled)
            open_vowel = consonant
    return "".join(out)


def switched(here: Sequence[Tree], there: Sequence[Tree]) -> tuple[list[str], list[str]]:
    """Return texts and these with the subject and the object of the main clause from their translations."""
    texts, mixed = [], []
    for one, other in zip(here, there, strict=True):
        spans = [(one.phrase(relation), other.phrase(relation)) for relation in SWAPPED]
        both = sorted(((a, b) for a, b in spans if a is not None and b is not None), key=lambda pair: -pair[0].start)
        units = list(one.units)
        for a, b in both:
            units[a.start : a.stop] = [
                Unit(joined(other.units[b.start : b.stop]), units[a.stop - 1].space, units[a.start].words)
            ]
        if both:
            texts.append(joined(one.units))
            mixed.append(joined(units))
    return texts[:MOST], mixed[:MOST]


def rewritten(texts: Sequence[str], change: Callable[[str], str]) -> tuple[list[str], list[str]]:
    """Return the texts that a change of spelling changes, and what it makes of them."""
    pairs = [(text, change(text)) for text in texts]
    kept = [(old, new) for old, new in pairs if old != new][:MOST]
    return [old for old, _ in kept], [new for _, new in kept]


def umlauts_typed(text: str) -> str:
    for mark, pair in {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}.items():
        text = text.replace(mark, pair)
    return text


def cases(data: Path) -> list[Case]:
    """Return all cases."""
    banks = {lang: trees(data / f"ud/{name}_pud-ud-test.conllu") for lang, name in TREEBANKS.items()}
    texts = {lang: [tree.text for tree in found] for lang, found in banks.items()}
    with (data / "indicmt/hi.tsv").open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        hindi = list({row["reference"][:25]: row["reference"] for row in rows}.values())[:MOST]  # no near-copies
    chinese, pinyin = texts["zh"][:MOST], [tree.latin for tree in banks["zh"][:MOST]]
    me5 = "me5-small-q4"
    made = [
        Case("Hindi, romanised", "hi", me5, hindi, [in_latin(text) for text in hindi]),
        Case("Chinese, in Pinyin", "zh", me5, chinese, pinyin),
        Case("Chinese, in Pinyin without tones", "zh", me5, chinese, [typed(text) for text in pinyin]),
    ]
    for here, there, name in (
        ("de", "en", "German, phrases in English"),
        ("zh", "en", "Chinese, phrases in English"),
        ("en", "de", "English, phrases in German"),
    ):
        plain, mixed = switched(banks[here], banks[there])
        made.append(Case(name, here, me5, plain, mixed))
    made.append(Case("English, phrases in German", "en", "minilm", plain, mixed))
    made.append(Case("German, all in English", "de", me5, texts["de"][:MOST], texts["en"][:MOST]))
    for name, lang, change in (
        ("German, Swiss ss for ß", "de", lambda text: text.replace("ß", "ss")),
        ("German, ae for ä", "de", umlauts_typed),
        ("English, British or American", "en", lambda text: perturb([text], "spelling", lang="en").texts[0]),
    ):
        plain, other = rewritten(texts[lang], change)
        made.append(Case(name, lang, me5, plain, other))
    made.append(Case("English, British or American", "en", "minilm", plain, other))
    return made


def unrelated(texts: Sequence[str]) -> list[int]:
    """Return for each text the place of another one of about its length."""
    order = sorted(range(len(texts)), key=lambda row: (len(texts[row]), row))
    to = dict(zip(order, [*order[1:], order[-2]], strict=True))
    return [to[row] for row in range(len(texts))]


def measure(case: Case) -> dict[str, Any]:
    """Return the figures of a case: a share and means for each metric."""
    bleu = f"sentbleu:tokenize={'zh' if case.lang == 'zh' else '13a'}"
    others = unrelated(case.references)
    found: dict[str, Any] = {"case": case.name, "lang": case.lang, "model": case.model, "n": len(case.references)}
    found["example"] = {"reference": case.references[0], "faithful": case.faithful[0]}
    metrics = {}
    for name, metric in zip(
        COLUMNS, get_metrics(f"chrf,{bleu},bertscore,sentence", model=case.model, lang=case.lang), strict=True
    ):

        def scores(candidates: Sequence[str], metric: Any = metric) -> Any:
            return np.asarray(metric.score(candidates, case.references).values)

        faithful = metric.score(case.faithful, case.references)
        value = np.asarray(faithful.values)
        entry: dict[str, Any] = {"signature": str(faithful.signature), "faithful": float(value.mean())}
        for form, texts in (("reference_form", case.references), ("faithful_form", case.faithful)):
            other = scores([texts[row] for row in others])
            wins = int((value > other).sum())
            entry[form] = {"mean": float(other.mean()), "above": wins, "ties": int((value == other).sum())}
            entry[form]["share"], entry[form]["ci"] = wins / len(value), list(wilson_interval(wins, len(value)))
        metrics[name] = entry
    return found | {"metrics": metrics}


def share(one: dict[str, Any]) -> str:
    return f"{one['share']:.3f} ({one['ci'][0]:.3f} to {one['ci'][1]:.3f})"


def tables(found: Sequence[dict[str, Any]]) -> str:
    """Return the tables of the page: shares, then mean scores."""
    heads = ["chrF", "sentence BLEU", "BERTScore", "`sentence`"]
    lines = [f"| faithful text | model | n | {' | '.join(heads)} |", "|---|---|---:|---|---|---|---|"]
    for one in found:
        cells = [share(one["metrics"][name]["reference_form"]) for name in COLUMNS]
        lines.append(f"| {one['case']} | `{one['model']}` | {one['n']} | {' | '.join(cells)} |")
    lines += ["", f"| mean score | model | {' | '.join(heads)} |", "|---|---|---|---|---|---|"]
    for one in found:
        cells = []
        for name in COLUMNS:
            digits = 1 if name in ("chrf", "sentbleu") else 3
            entry = one["metrics"][name]
            means = (entry["faithful"], entry["reference_form"]["mean"])
            cells.append(" / ".join(f"{mean:.{digits}f}" for mean in means))
        lines.append(f"| {one['case']} | `{one['model']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    arguments = parser.parse_args()
    found = []
    for case in cases(arguments.data):
        found.append(measure(case))
        print(json.dumps(found[-1], ensure_ascii=False), flush=True)
    for one in found:
        del one["example"]
    with atomic_text(arguments.output) as stream:
        stream.write(json.dumps({"cases": found}, indent=1) + "\n")
    if PAGE.exists():
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        with atomic_text(PAGE) as stream:
            stream.write(f"{before}{MARKS[0]}\n\n{tables(found)}\n\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
