"""How often `--lang auto` takes texts for another language, by how short they are: what its threshold rests on.

Run: python benchmarks/detection.py --data FOLDER

FOLDER is laid out like the data folder of the tests: UD PUD and EWT (``ud``), newstest2013 and Tatoeba (``mono``),
AfriMTE (``afrimte``) and IndicMT-Eval (``indicmt``). Every sentence is asked about alone, as the only text of a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bsx.data.writing import MINIMUM_PROBABILITY, identified

RESULT = Path(__file__).parent / "results" / "detection.md"
MOST = 500
LENGTHS = ((1, 20), (20, 40), (40, 80), (80, 160), (160, 10_000))
THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
TATOEBA = {"ces": "cs", "cmn": "zh", "deu": "de", "eng": "en", "fin": "fi", "fra": "fr", "rus": "ru", "spa": "es"}
TATOEBA |= {"tur": "tr"}
AFRIMTE = {"eng-fra": "fr", "eng-hau": "ha", "eng-som": "so", "eng-swh": "sw", "eng-yor": "yo"}


def sentences(data: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield data set, language and sentences."""
    for file in sorted((data / "ud").glob("*/*.conllu")):
        lines = file.read_text(encoding="utf-8").splitlines()
        texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
        yield file.parent.name.removeprefix("UD_"), file.name[:2], texts
    for file in sorted((data / "mono" / "newstest2013").iterdir()):
        yield "newstest2013", file.suffix[1:], file.read_text(encoding="utf-8").splitlines()
    for code, language in TATOEBA.items():
        pair = "deu-eng" if code == "eng" else f"{code}-eng"
        yield "Tatoeba", language, (data / "mono/tatoeba" / f"tatoeba.{pair}.{code}").read_text("utf-8").splitlines()
    for pair, language in AFRIMTE.items():
        yield "AfriMTE", language, column(data / "afrimte" / f"{pair}.tsv", "reference")
    for language in ("hi", "mr", "ta"):
        yield "IndicMT-Eval", language, column(data / "indicmt" / f"{language}.tsv", "reference")


def column(file: Path, name: str) -> list[str]:
    """Return the distinct cells of a column of a tab-separated table."""
    head, *rows = file.read_text(encoding="utf-8").splitlines()
    at = head.split("\t").index(name)
    return list(dict.fromkeys(row.split("\t")[at] for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    found: list[tuple[str, str, int, bool, float]] = []
    for name, language, texts in sentences(data):
        texts = [text for text in texts if text.strip()]
        drawn = np.random.default_rng(1).permutation(len(texts))[:MOST]
        for text in (texts[k] for k in drawn):
            code, sure = identified(text)
            found.append((name, language, len(text), code == language, sure))
    lines = ["# Language detection of single sentences", "", "```text", "python benchmarks/detection.py --data FOLDER"]
    lines += ["```", "", f"{len(found):,} sentences, up to {MOST} of each language of a data set, drawn with seed 1."]
    lines += ["Each cell: share of all that pass and are taken for another language / share of all that is refused."]
    lines += ["", "| characters | n | " + " | ".join(f"p ≥ {one:g}" for one in THRESHOLDS) + " |"]
    lines += ["|---" * (len(THRESHOLDS) + 2) + "|"]
    for low, high in LENGTHS:
        part = [(right, sure) for *_, length, right, sure in found if low <= length < high]
        cells = []
        for threshold in THRESHOLDS:
            mistaken = np.mean([not right and sure >= threshold for right, sure in part])
            refused = np.mean([sure < threshold for _, sure in part])
            cells.append(f"{mistaken:.1%} / {refused:.1%}")
        lines.append(f"| {low} to {high - 1:,} | {len(part):,} | {' | '.join(cells)} |")
    kept = [(item, item[4] >= MINIMUM_PROBABILITY) for item in found]
    wrong = sum(not item[3] for item, taken in kept if taken)
    passed = sum(taken for _, taken in kept)
    lines += [
        "",
        f"bsx asks for p ≥ {MINIMUM_PROBABILITY:g}: {wrong} of the {passed:,} sentences that pass are taken for",
        f"another language; the other {len(kept) - passed:,} are refused. Of several texts, bsx asks for",
        "the probability of all together. By language and data set:",
        "",
        "| data | language | n | wrong of those that pass | refused |",
        "|---|---|---|---|---|",
    ]
    for name, language in dict.fromkeys(item[:2] for item in found):
        mine = [(item, taken) for item, taken in kept if item[:2] == (name, language)]
        passing = [item for item, taken in mine if taken]
        wrong = sum(not item[3] for item in passing)
        lines.append(f"| {name} | {language} | {len(mine)} | {wrong} | {1 - len(passing) / len(mine):.1%} |")
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
