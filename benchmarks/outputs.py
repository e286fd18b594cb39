"""How many outputs that are no translation `bsx.data.outputs` finds, and how many translations it takes for such.

Run: python -m benchmarks.outputs planted --pud FOLDER --ntrex FOLDER
     python -m benchmarks.outputs real --data FOLDER --read FILE
     python -m benchmarks.outputs time --data FOLDER

Planted are: a text that is blank or only marks; the source of at least four words; the last one to six words again and
again; a translation of at least eight words into another language, drawn from all but the close ones; a fifth of the
text, or four times the text; its first half with the second half of a source of at least 16 words. Each cell has the
share found without and with the reference.

PUD: the treebanks UD_*-PUD of Universal Dependencies, which translate the same 1,000 sentences. NTREX: the folder
NTREX-128 of the project of that name, newstest2019 in 128 languages; its odd lines set the thresholds, its even ones
were looked at when they stood, PUD once before. ``real`` takes outputs of systems from the data folder of the tests and
writes a sample of what was flagged, to be read. The result is benchmarks/results/outputs.md; what was read is entered
there.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bsx.catalog.catalog import shipped
from bsx.catalog.languages import find_language
from bsx.data.corpus import MemoryCorpus
from bsx.data.outputs import OutputCheck, look

NTREX = {
    "ar": "arb", "bs": "bos", "cs": "ces", "da": "dan", "de": "deu", "es": "spa", "fi": "fin", "fr": "fra",
    "gl": "glg", "he": "heb", "hi": "hin", "hr": "hrv", "id": "ind", "is": "isl", "it": "ita", "ja": "jpn",
    "ko": "kor", "ms": "msa", "no": "nob", "pl": "pol", "pt": "por", "ru": "rus", "sk": "slk", "sr-Latn": "srp-Latn",
    "sv": "swe", "th": "tha", "tr": "tur", "zh": "zho-CN",
}  # fmt: skip
CLOSE = (("hr", "sr-Latn", "bs"), ("cs", "sk"), ("es", "pt", "gl"), ("no", "da", "sv"), ("id", "ms"))
FOUND = ("empty", "copy", "loop", "language", "length", "untranslated")


def pud(folder: Path) -> dict[str, list[str]]:
    """Return the sentences that all treebanks have, by language."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted(folder.glob("*PUD/*.conllu")):
        lines = file.read_text(encoding="utf-8").splitlines()
        names = [line.removeprefix("# sent_id = ") for line in lines if line.startswith("# sent_id = ")]
        texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
        found[file.name[:2]] = dict(zip(names, texts, strict=True))
    shared = sorted(set.intersection(*(set(of) for of in found.values())))
    return {code: [of[name] for name in shared] for code, of in found.items()}


def ntrex(folder: Path) -> dict[str, list[str]]:
    """Return every other line of the translations, from the second on, by language."""
    files = {"en": "newstest2019-src.eng.txt", **{c: f"newstest2019-ref.{name}.txt" for c, name in NTREX.items()}}
    return {code: (folder / name).read_text(encoding="utf-8").splitlines()[1::2] for code, name in files.items()}


def check_of(code: str, candidates: list[str], sources: list[str], references: list[str] | None = None) -> OutputCheck:
    """Return the check as a run in this language has it."""
    entry = find_language(code, shipped())
    script = "Latn" if code == "sr-Latn" else entry.script
    return OutputCheck(MemoryCorpus({"candidate": candidates}, references, sources), entry.code, script)


def looping(text: str, rng: random.Random) -> str:
    """Return a text that goes on with its last words, one to six, again and again, as decoders do."""
    single = look(text).single
    words = list(text) if single else text.split()
    few = min(len(words), rng.randint(2, 12) if single else rng.randint(1, 6))
    cut = rng.randint(few, len(words))
    return ("" if single else " ").join(words[:cut] + words[cut - few : cut] * rng.randint(5, 20))


def planted(texts: dict[str, list[str]], code: str, *, referenced: bool) -> tuple[dict[str, list[bool]], Counter[str]]:
    """Return whether each planted fault was found, and how many translations were taken for each kind."""
    rng, own = random.Random(1), texts[code]  # noqa: S311
    sources = texts["en" if code != "en" else "de"]
    check = check_of(code, own, sources, own if referenced else None)
    near = {code} | {other for group in CLOSE if code in group for other in group}
    others = [other for other in texts if other not in near]
    clean: Counter[str] = Counter()
    found: dict[str, list[bool]] = {name: [] for name in FOUND}
    for place, (text, source) in enumerate(zip(own, sources, strict=True)):
        references = [text] if referenced else []
        if not referenced:
            clean.update(check.kinds(text, [], source))
        foreign = texts[rng.choice(others)][place]
        words, given = text.split(), source.split()
        half = " ".join([*words[: len(words) // 2], *given[len(given) // 2 :]])
        faults = {
            "empty": ("", " ", "…", " . ")[place % 4],
            "copy": source if look(source).words >= 4 else None,
            "loop": looping(text, rng),
            "language": foreign if look(foreign).words >= 8 else None,
            "length": text[: len(text) // 5] if place % 2 else " ".join([text] * 4) if len(text) > 40 else None,
            "untranslated": half if len(given) >= 16 else None,
        }
        for name, fault in faults.items():
            if fault is not None:
                kinds = check.kinds(fault, references, source)
                found[name].append(bool({name, "script" if name == "language" else name} & set(kinds)))
                if name == "length" and not place % 2:  # four times the text is a loop as well
                    found[name][-1] |= "loop" in kinds
    return found, clean


def share(flags: Sequence[bool]) -> str:
    """Return a share as a cell."""
    return f"{100 * sum(flags) / len(flags):.1f}" if flags else "–"


def table(texts: dict[str, list[str]], codes: Sequence[str]) -> Iterator[str]:
    """Yield the table of one collection: shares found without and with references, and false alarms."""
    heads = ["language", *FOUND, "translations", "taken for a fault"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    whole: dict[str, list[list[bool]]] = {name: [[], []] for name in FOUND}
    alarms: Counter[str] = Counter()
    for code in codes:
        results = [planted(texts, code, referenced=referenced) for referenced in (False, True)]
        clean = results[0][1]
        alarms.update(clean)
        cells = []
        for name in FOUND:
            flags = [found[name] for found, _ in results]
            for total, of in zip(whole[name], flags, strict=True):
                total += of
            cells.append(" / ".join(map(share, flags)))
        told = ", ".join(f"{kind} {count}" for kind, count in clean.most_common()) or "0"
        yield f"| {code} | {' | '.join(cells)} | {len(texts[code]):,} | {told} |"
    n = sum(len(texts[code]) for code in codes)
    told = ", ".join(f"{kind} {count} ({100 * count / n:.3f} %)" for kind, count in alarms.most_common()) or "0"
    cells = [" / ".join(map(share, whole[name])) for name in FOUND]
    yield f"| all | {' | '.join(cells)} | {n:,} | {told} |"


def close(texts: dict[str, list[str]]) -> Iterator[str]:
    """Yield how often a text of a close language is told, by pair."""
    yield "| asked for | output in | n | told (no reference) |"
    yield "|---|---|---|---|"
    for group in CLOSE:
        for code in group:
            check = check_of(code, texts[code], texts["en"])
            for other in group:
                flags = [
                    "language" in check.kinds(text, [], source)
                    for text, source in zip(texts[other], texts["en"], strict=True)
                    if other != code and look(text).words >= 8
                ]
                if flags:
                    yield f"| {code} | {other} | {len(flags)} | {share(flags)} |"


def systems(data: Path) -> Iterator[tuple[str, str, list[dict[str, str]]]]:
    """Yield data set, language and rows of source, reference, candidate and system, of outputs of real systems."""
    for file in sorted((data / "wmt22-auto").glob("*.systems.tsv")) + sorted((data / "wmt").glob("*.systems.tsv")):
        pair = re.findall(r"[a-z]{2}-[a-z]{2}", file.name)[-1]
        reference = read(file.with_name(file.name.replace(".systems.", ".ref.")))
        given = read(file)
        yield file.name.removesuffix(".systems.tsv"), pair[-2:], joined(given, reference)
    for pair in ("en-de", "he-en"):
        yield f"wmt23 {pair}", pair[-2:], read(data / "wmt23" / f"{pair}.texts.tsv.gz")


def read(file: Path) -> list[dict[str, str]]:
    """Return the rows of a tab-separated table."""
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def joined(given: list[dict[str, str]], references: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return candidates beside source and reference of their segment; a second reference stands beside the first."""
    of = {row["sid"]: row for row in references}
    return [{**row, **of[row["sid"]]} for row in given if row["sid"] in of]


def tables(data: Path) -> Iterator[tuple[str, str, list[dict[str, str]]]]:
    """Yield `systems`, and tables that hold all texts."""
    yield from systems(data)
    for file in sorted((data / "wmt21low").glob("??-??.tsv")) + sorted((data / "indicmt").glob("??.tsv")):
        yield f"{file.parent.name} {file.stem}", file.stem[-2:], read(file)
    codes = {"fra": "fr", "hau": "ha", "som": "so", "swh": "sw", "yor": "yo"}
    for file in sorted((data / "afrimte").glob("eng-*.tsv")):
        if (code := codes.get(file.stem[4:])) is not None:
            yield f"afrimte {file.stem}", code, read(file)
    yield "mqm newstest2021 en-de", "de", read(data / "mqm" / "newstest2021-en-de.tsv")


def real(data: Path, out: Path) -> Iterator[str]:
    """Yield a table of what is flagged in outputs of systems, and write a hundred of them, drawn by kind."""
    flagged: list[dict[str, str]] = []
    yield "| data | language | candidates | flagged |"
    yield "|---|---|---|---|"
    counts, n = Counter[str](), 0
    for name, code, rows in tables(data):
        named = [key for key in rows[0] if key.startswith("reference") and "synthetic" not in key]
        rows = [row for row in rows if row["source"] and row["candidate"] is not None]
        first = list({row["source"]: row for row in rows}.values())
        sources, references = [row["source"] for row in first], [row[named[0]] for row in first]
        check, own = check_of(code, references, sources, references), Counter[str]()
        for row in rows:
            kinds = check.kinds(row["candidate"], [row[key] for key in named if row[key]], row["source"])
            own.update(kinds)
            keep = {key: row[key] for key in ("source", "candidate")} | {"reference": row[named[0]]}
            flagged += [{"data": name, "kind": kind, "system": row.get("system", ""), **keep} for kind in kinds]
        counts += own
        n += len(rows)
        told = ", ".join(f"{kind} {count}" for kind, count in own.most_common()) or "0"
        yield f"| {name} | {code} | {len(rows):,} | {told} |"
    told = ", ".join(f"{kind} {count} ({100 * count / n:.2f} %)" for kind, count in counts.most_common())
    yield f"| all | | {n:,} | {told} |"
    rng, drawn = random.Random(54), []  # noqa: S311
    kinds = [kind for kind, _ in counts.most_common()][::-1]
    for place, kind in enumerate(kinds):  # as many of each, as far as there are
        distinct = list({row["candidate"]: row for row in flagged if row["kind"] == kind}.values())
        drawn += rng.sample(distinct, min(len(distinct), (100 - len(drawn)) // (len(kinds) - place)))
    with out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(drawn[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(drawn)


def timed(data: Path) -> Iterator[str]:
    """Yield which part of a run with chrF and BERTScore goes into the check."""
    import bsx
    from bsx.data.outputs import OutputCounts

    of: dict[str, list[str]] = {}
    for row in read(data / "wmt23" / "en-de.texts.tsv.gz"):
        for key in ("source", "candidate", "reference_refA"):
            of.setdefault(key, []).append(row[key])
    n, spent = 1000, 0.0
    table = {"source": of["source"][:n], "reference": of["reference_refA"][:n], "candidate": of["candidate"][:n]}
    usual = OutputCounts.add, OutputCheck.__init__

    def watched(function: object) -> object:
        def call(*args: object) -> None:
            nonlocal spent
            began = time.perf_counter()
            function(*args)  # type: ignore[operator]
            spent += time.perf_counter() - began

        return call

    OutputCounts.add, OutputCheck.__init__ = map(watched, usual)  # type: ignore[method-assign, assignment]
    for metrics in (["chrf"], ["chrf", "bertscore"]):
        bsx.score_files(table=table, metrics=metrics, lang="de", model="me5")  # models are loaded, and read once
        spent, began = 0.0, time.perf_counter()
        bsx.score_files(table=table, metrics=metrics, lang="de", model="me5")
        whole = time.perf_counter() - began
        part = f"{spent:.2f} s of it the check ({spent / whole:.1%})"
        yield f"{' and '.join(metrics)}: {n:,} segments {whole:.2f} s, {part}"


def main() -> None:
    """Run one of the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("planted", "real", "time"))
    for name in ("pud", "ntrex", "data", "read"):
        parser.add_argument(f"--{name}", type=Path)
    given = parser.parse_args()
    if given.part == "planted":
        first, second = pud(given.pud), ntrex(given.ntrex)
        shared = [code for code in second if not any(code in group[1:] for group in CLOSE) or code in first]
        print("## Planted in PUD\n", *table(first, sorted(first)), sep="\n")
        print("\n## Planted in NTREX, even lines\n", *table(second, sorted(shared)), sep="\n", flush=True)
        print("\n## Close languages, NTREX, even lines\n", *close(second), sep="\n")
    else:
        print(*(real(given.data, given.read) if given.part == "real" else timed(given.data)), sep="\n")


if __name__ == "__main__":
    main()
