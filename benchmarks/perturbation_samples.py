"""Draw outputs of perturbations from real texts for a reader to judge, and count the verdicts.

Run from the repository: ``.venv/bin/python -m benchmarks.perturbation_samples draw de --ud DIR --mono DIR --seed 1``
writes a sheet to read and a table without verdicts; ``count`` reads the tables in ``perturbation_verdicts/``. The
tables name texts by number and keep the words that changed, never the texts.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import regex

from bsx.analysis.factors.parses import Parse, read_conllu
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.perturb import PERTURBATIONS, perturb

VERDICTS = Path(__file__).parent / "perturbation_verdicts"
COLUMNS = ("rule", "seed", "text", "before", "after", "verdict", "why")
TREEBANKS = {
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "ru": "Russian",
    "zh": "Chinese",
    "cs": "Czech",
    "hi": "Hindi",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "sv": "Swedish",
    "tr": "Turkish",
}
TATOEBA = {"de": "deu", "es": "spa", "fr": "fra", "ru": "rus", "zh": "cmn", "cs": "ces", "fi": "fin", "tr": "tur"}
# Rules that work in any language by one mechanical step need no native reader.
_MECHANICAL = (
    "lower upper title no-punctuation extra-punctuation spacing homoglyphs shuffle drop-words repeat-words truncate "
    "source unrelated empty"
)
MECHANICAL = frozenset(_MECHANICAL.split())
_TOKEN = regex.compile(r"\p{Script=Han}|[\p{L}\p{N}--\p{Script=Han}]+(?:['’][\p{L}\p{N}]+)*|\S|\s+", regex.V1)

Text = tuple[str, str, Parse | None]  # its name, itself, its parse


def treebank_texts(file: Path) -> Iterator[Text]:
    """Yield the sentences of a CoNLL-U file, named by file and sentence."""
    names, texts = [], []
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line.startswith("# sent_id = "):
            names.append(f"{file.name.partition('-ud-')[0]}:{line[12:]}")
        elif line.startswith("# text = "):
            texts.append(line[9:])
    for name, text, sentence in zip(names, texts, read_conllu(file), strict=True):
        yield name, text, sentence.parse


def plain_texts(folder: Path, lang: str) -> Iterator[Text]:
    """Yield references of newstest2013 and sentences of Tatoeba, named by line."""
    tatoeba = f"tatoeba.{TATOEBA.get(lang)}-eng.{TATOEBA.get(lang)}"
    for file in (folder / "newstest2013" / f"newstest2013-ref.{lang}", folder / "tatoeba" / tatoeba):
        if file.is_file():
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), start=1):
                if line.strip():
                    yield f"{file.name}:{number}", line.strip(), None


def changed_words(old: str, new: str) -> list[tuple[str, int, int, str]]:
    """Return what became of which piece of a text: piece, where it stands, what stands there now."""
    a, b = _TOKEN.findall(old), _TOKEN.findall(new)
    at = [0]
    for token in a:
        at.append(at[-1] + len(token))
    return [
        ("".join(a[i:j]), at[i], at[j], "".join(b[k:m]))
        for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def shown(old: str, new: str, around: int) -> str:
    """Return a text with its changes in braces, and so much of what stands around them."""
    changes = changed_words(old, new)
    parts, at = [], max(0, changes[0][1] - around)
    parts.append("…" if at else "")
    for piece, start, end, now in changes:
        parts += [old[at:start], "{", piece, "→", now, "}"]
        at = end
    parts += [old[at : at + around], "…" if at + around < len(old) else ""]
    return "".join(parts).replace("\n", " ")


def draw(
    lang: str,
    texts: Sequence[Text],
    rules: Iterable[str],
    seed: int,
    n: int,
    files: Sequence[Path],
    without: Mapping[str, set[str]],
) -> Iterator[tuple[str, list[tuple[Text, str]], int, int]]:
    """Yield each rule, outputs of it, how many texts it changed, and of how many."""
    inflections = Inflections.from_treebanks(files) if lang != "zh" and files else None
    for rule in rules:
        one = PERTURBATIONS[rule]
        lacking = one.lacks(lang, source=False, parse=True, inflections=inflections is not None)
        if lacking is not None:
            continue
        pool = [text for text in texts if text[2] is not None] if "parse" in one.needs else list(texts)
        made = perturb(
            [text[1] for text in pool],
            one,
            seed=seed,
            lang=lang,
            parses=[text[2] for text in pool],
            inflections=inflections,
        )
        rows = [int(row) for row in made.changed.nonzero()[0]]
        free = [row for row in rows if pool[row][0] not in without.get(rule, ())]
        chosen = sorted(random.Random(f"{seed} {lang} {rule}").sample(free, min(n, len(free))))  # noqa: S311 - no secrets
        yield rule, [(pool[row], made.texts[row]) for row in chosen], len(rows), len(pool)


def read_verdicts(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def write_verdicts(file: Path, rows: Iterable[Sequence[str]]) -> None:
    with file.open("w", encoding="utf-8") as stream:
        stream.write("\t".join(COLUMNS) + "\n")
        for row in rows:
            stream.write("\t".join(regex.sub(r"\s+", " ", cell) for cell in row) + "\n")


def count(folder: Path = VERDICTS) -> dict[tuple[str, str], Counter[str]]:
    """Return how many outputs of each language and rule are good and bad."""
    results: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for file in sorted(folder.glob("*.tsv")):
        for row in read_verdicts(file):
            results[file.name.partition(".")[0], row["rule"]][row["verdict"]] += 1
    return results


def main() -> None:
    """Draw outputs, or count verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("draw", "count"))
    parser.add_argument("lang", nargs="?")
    parser.add_argument("--ud", type=Path, help="folder of treebanks, UD_German-PUD and so on")
    parser.add_argument("--mono", type=Path, help="folder with newstest2013 and tatoeba")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--rules", default="")
    parser.add_argument("--without", type=Path, nargs="*", default=(), help="tables whose texts are not drawn again")
    parser.add_argument("--around", type=int, default=90)
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    if options.what == "count":
        for (lang, rule), verdicts in count().items():
            print(f"{lang}\t{rule}\t{verdicts['good']} of {verdicts.total()}")
        return
    lang = options.lang
    files = sorted(options.ud.glob(f"UD_{TREEBANKS[lang]}-*/*.conllu")) if options.ud else []
    files = [file for file in files if file.stat().st_size]
    texts = [text for file in files for text in treebank_texts(file)]
    texts += plain_texts(options.mono, lang) if options.mono else []
    rules = options.rules.split(",") if options.rules else [name for name in PERTURBATIONS if name not in MECHANICAL]
    without: dict[str, set[str]] = defaultdict(set)
    for table in options.without:
        for row in read_verdicts(table):
            without[row["rule"]].add(row["text"])
    table_rows, sheet = [], []
    for rule, drawn, many, of in draw(lang, texts, rules, options.seed, options.n, files, without):
        sheet.append(f"\n## {lang} {rule}: {many} of {of} changed")
        for number, ((name, old, _), new) in enumerate(drawn, start=1):
            changes = changed_words(old, new)
            sheet.append(f"{number} {shown(old, new, options.around)}")
            before, after = (" … ".join(str(change[i]).strip() for change in changes[:6]) for i in (0, 3))
            table_rows.append((rule, str(options.seed), name, before, after, "", ""))
    options.out.mkdir(parents=True, exist_ok=True)
    write_verdicts(options.out / f"{lang}.tsv", table_rows)
    (options.out / f"{lang}.txt").write_text("\n".join(sheet) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
