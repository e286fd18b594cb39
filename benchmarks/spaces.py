"""Does it help BERTScore to centre, standardise or whiten token vectors? By data set, with MiniLM and me5.

Run: python benchmarks/spaces.py --data DATA --work WORK          scores, kept in WORK by set
     python benchmarks/spaces.py --data DATA --work WORK --write  the results

DATA and the sets are those of benchmarks/languages.py, with as many rows. Mean, deviations and covariance are those of
the tokens of a set's distinct references at each layer; no human score is looked at. What is in WORK is not scored
again.

- centred: minus the mean (Cai et al. 2021; the first step of arXiv:1702.01417)
- standardised: minus the mean, over the standard deviation of each dimension (Timkey & van Schijndel, arXiv:2109.04404)
- all-but-the-top: minus the mean and the first d/100 principal components (Mu & Viswanath, arXiv:1702.01417)
- whitened: minus the mean, times the inverse square root of the covariance (Su et al., arXiv:2103.15316)
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.languages import SETS, Judged, drawn
from bsx.analysis.disentangle.variants import pooled_mean
from bsx.analysis.stats.correlation import bootstrap_correlations
from bsx.bertscore.metric import BertScore, Window
from bsx.bertscore.scorer import Scorer
from bsx.data.output import atomic_text
from bsx.encode.idf import count_idf
from bsx.encode.states import encode_rows, normalise
from bsx.match.greedy import FlatVectors, match_pairs, reduce_references

RESULTS = Path(__file__).with_name("agreement") / "spaces.md"
SPACES = ("raw", "centred", "standardised", "all-but-the-top", "whitened")
MODELS = {"minilm": ("en",), "me5-small-q4": ()}
"""Model -> languages it is measured in; all where there are none."""
RESAMPLES = 2000
INTRODUCTION = """# Does it help BERTScore to centre, standardise or whiten token vectors?

```text
python benchmarks/spaces.py --data DATA --work WORK
python benchmarks/spaces.py --data DATA --work WORK --write
```

No. At the layer of the registry, centring costs r in both models, and no other space gains. Where the space is chosen
together with layer and idf, on all other sets, MiniLM loses on the set left out, and me5 takes raw vectors each time:
what it gains there, it gains by layer and idf. So none of them is a setting.

Columns are differences of Pearson's r to raw vectors without idf, with 95 % intervals: 2,000 bootstrap resamples of
references with their rows. The last line is the mean over sets with random effects (Paule & Mandel's tau²). Mean,
deviations, components and covariance are those of the tokens of the set's references, as with idf. Several human scores
of a set count as their mean r. Sets are those of `benchmarks/languages.py` with references, drawn as there."""
Floats = NDArray[np.float64]


def mapped(states: NDArray[np.float32], fit: NDArray[np.bool_], space: str) -> NDArray[np.float32]:
    """Return the vectors of one layer (tokens, dim) in another space, which is fitted on some of them (tokens,)."""
    if space == "raw":
        return states
    sample = states[fit].astype(np.float64)
    mean = sample.mean(axis=0)
    centred = states - mean
    if space == "standardised":
        centred = centred / np.maximum(sample.std(axis=0), 1e-6)
    elif space != "centred":
        values, basis = np.linalg.eigh(np.cov(sample, rowvar=False))
        if space == "whitened":
            kept = values > 1e-8 * values[-1]
            centred = centred @ (basis[:, kept] / np.sqrt(values[kept])) @ basis[:, kept].T
        else:
            top = basis[:, -max(1, states.shape[1] // 100) :]
            centred = centred - centred @ top @ top.T
    result: NDArray[np.float32] = centred.astype(np.float32)
    return result


def scored(metric: BertScore, candidates: list[str], references: list[list[str]]) -> NDArray[np.float32]:
    """Return F1 by space, without and with idf, by layer and row (spaces, 2, layers, n)."""
    tokenizer, layers = metric.tokenizer, len(metric.layers)
    several = [text for texts in references for text in texts]
    window = Window.of((*candidates, *several), tokenizer)
    wanted = [(t, window.tokens[i], int(window.offsets[i])) for t, i in window.texts.items() if window.content[i]]
    ids = np.concatenate([text.ids for text in window.tokens])
    states = np.zeros((layers, len(ids), metric.encoding.dimensions), dtype=np.float32)
    for rows, found in encode_rows(wanted, metric.encoding):
        states[:, rows] = found
    fit = np.zeros(len(ids), dtype=bool)
    for text in dict.fromkeys(several):
        i = window.texts[text]
        fit[window.offsets[i] : window.offsets[i] + window.lengths[i]] = True
    fit &= ~tokenizer.weighs_nothing[ids]
    pool = np.append(~tokenizer.cannot_match[ids], False)
    pairs = [
        (row, window.texts[text], window.texts[other])
        for row, (text, others) in enumerate(zip(candidates, references, strict=True))
        for other in others
        if window.content[window.texts[text]] and window.content[window.texts[other]]
    ]
    table = np.array(pairs)
    idf = count_idf(several, tokenizer).table(tokenizer.vocabulary_size)
    result = np.zeros((len(SPACES), 2, layers, len(candidates)), dtype=np.float32)
    for place, space in enumerate(SPACES):
        for layer in range(layers):
            vectors = np.zeros((1, len(ids) + 1, states.shape[2]), dtype=np.float32)
            vectors[0, :-1] = normalise(mapped(states[layer], fit, space))
            for weighted in (0, 1):
                weights = np.where(tokenizer.weighs_nothing[ids], 0, idf[ids] if weighted else 1)
                flat = FlatVectors(
                    vectors, np.append(weights, 0).astype(np.float32), pool, window.offsets, window.lengths
                )
                figures = match_pairs(flat, table[:, 1], table[:, 2])
                f1, _ = reduce_references(figures, table[:, 0], len(candidates), "columnwise")
                result[place, weighted, layer] = np.nan_to_num(f1[0, :, 2])
    return result


def wanted(model: str) -> Iterator[Judged]:
    """Yield the sets of a model: those with references and human scores in a language that it is measured in."""
    for judged in SETS:
        in_language = judged.target in (MODELS[model] or (judged.target,))
        if in_language and judged.reference and judged.human_columns and not judged.scores:
            yield judged


def file_of(work: Path, model: str, judged: Judged) -> Path:
    """Return where a set's scores are kept."""
    return work / f"{model}-{re.sub(r'[^a-z0-9]+', '-', judged.name.lower())}.npz"


def measure(data: Path, work: Path) -> None:
    """Score every set that is not in WORK."""
    work.mkdir(parents=True, exist_ok=True)
    for model in MODELS:
        scorer = Scorer(model=model, all_layers=True)
        for judged in wanted(model):
            file = file_of(work, model, judged)
            if file.exists():
                continue
            rows, (candidates, references, _) = drawn(judged, data, None)
            f1 = scored(scorer.metric, candidates, references or [])
            human = np.array([[float(row[name]) for row in rows] for name in judged.human_columns])
            _, same = np.unique([" ".join(texts) for texts in references or []], return_inverse=True)
            np.savez_compressed(file, f1=f1, human=human, clusters=same)
            scorer.metric.encoders.forget()
            print(model, judged.name, len(rows), flush=True)


def differences(
    f1: NDArray[np.float32], human: Floats, clusters: NDArray[np.int64], layer: int
) -> tuple[Floats, Floats]:
    """Return Pearson r of the spaces without and with idf at a layer (spaces * 2,), and of resamples (resamples, …).

    Several human scores of one set count as their mean r.
    """
    x = f1[:, :, layer].reshape(2 * len(SPACES), -1).astype(np.float64)
    own = [np.array([np.corrcoef(row, y)[0, 1] for row in x]) for y in human]
    draws = [bootstrap_correlations(x, y, "pearson", resamples=RESAMPLES, clusters=clusters) for y in human]
    return np.mean(own, axis=0), np.mean(draws, axis=0)


def left_out(tables: list[Floats], layer: int) -> list[str]:
    """Return what choosing a layer, a layer and idf, or all three is worth on sets that the choice was made without.

    Args:
        tables: r of each set by space, idf and layer (spaces, 2, layers).
        layer: the registry's, which the others are compared with.
    """
    r = np.array(tables)
    choices = {"layer": r[:, :1, :1], "layer x idf": r[:, :1], "layer x space": r[:, :, :1], "layer x idf x space": r}
    got = {"nothing: raw vectors at the registry's layer": r[:, 0, 0, layer]}
    for name, of in choices.items():
        flat = of.reshape(len(of), -1)
        best = [np.delete(flat, i, axis=0).mean(axis=0).argmax() for i in range(len(flat))]
        got[name] = flat[np.arange(len(flat)), best]
    lines = [
        "",
        "| chosen on the other sets | mean r on the set left out | minus raw r at the registry's layer |",
        "|---|---|---|",
    ]
    for name, values in got.items():
        apart = values - r[:, 0, 0, layer]
        reach = 2 * apart.std(ddof=1) / np.sqrt(len(apart))
        mean = apart.mean()
        more = "" if not apart.any() else f"{signed(mean)} [{signed(mean - reach)}, {signed(mean + reach)}]"
        lines.append(f"| {name} | {values.mean():.3f} | {more} |")
    return lines


def signed(value: float) -> str:
    """Return a number with its sign, without the zero before the point."""
    return f"{value:+.3f}".replace("0.", ".", 1)


def report(work: Path) -> str:
    """Return the page: raw and other spaces at the registry's layer, by set, and pooled over sets."""
    lines = INTRODUCTION.splitlines()
    names = [f"{space}{', idf' if weighted else ''}" for space in SPACES for weighted in (0, 1)]
    for model in MODELS:
        layer = Scorer(model=model).layers[0]
        lines += ["", f"## {model}, layer {layer}", ""]
        lines += ["| set | n | raw | " + " | ".join(names[1:]) + " |", "|---" * (len(names) + 2) + "|"]
        gains, errors, tables = [], [], []
        for judged in wanted(model):
            file = file_of(work, model, judged)
            kept = np.load(file)
            own, draws = differences(kept["f1"], kept["human"], kept["clusters"], layer)
            x = kept["f1"].reshape(-1, kept["human"].shape[1]).astype(np.float64)
            r = np.mean([[np.corrcoef(row, y)[0, 1] for row in x] for y in kept["human"]], axis=0)
            tables.append(r.reshape(kept["f1"].shape[:3]))
            apart = draws[:, 1:] - draws[:, :1]
            low, high = np.nanpercentile(apart, [2.5, 97.5], axis=0)
            gain = own[1:] - own[0]
            gains.append(gain)
            errors.append(np.nanstd(apart, axis=0))
            cells = [f"{signed(g)} [{signed(a)}, {signed(b)}]" for g, a, b in zip(gain, low, high, strict=True)]
            lines.append(f"| {judged.name} | {kept['human'].shape[1]} | {own[0]:.3f} | " + " | ".join(cells) + " |")
        pooled = []
        for effect, error in zip(np.transpose(gains), np.transpose(errors), strict=True):
            mean = pooled_mean(effect, np.diag(error**2))
            reach = 2.0 * mean.se
            pooled.append(f"**{signed(mean.mean)}** [{signed(mean.mean - reach)}, {signed(mean.mean + reach)}]")
        lines.append(f"| **all sets** | {len(gains)} sets | | " + " | ".join(pooled) + " |")
        lines += left_out(tables, layer)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.write:
        with atomic_text(RESULTS) as stream:
            stream.write(report(args.work))
    else:
        measure(args.data, args.work)


if __name__ == "__main__":
    main()
