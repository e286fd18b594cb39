"""What do metrics across languages measure? Kaster, Zhao & Eger's regression on their rows, and cross-lingual bias.

Run: python benchmarks/multilingual_factors.py --data FOLDER --cache FOLDER [--rows N] [--pud N] [--sets NAME,NAME]

The first FOLDER holds kaster2021/, wmt/, mono/tatoeba/ and ud/; scores are kept in the second, and a later run takes
them from there. ``--rows`` is how many rows of a set are taken at least, evenly spaced, where it has twice as many, and
``--pud`` the same for PUD; MLQE is taken whole. Writes benchmarks/agreement/multilingual-factors.md, or ``-o FILE``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np
from reference_free import PUBLISHED, Pair, Scores, maps, read, scored

from bsx.analysis import compare_coefficients, cross_lingual_bias, disentangle, pearson, read_conllu, syn_scores
from bsx.analysis.disentangling.result import DisentangleResult
from bsx.analysis.stats.clusters import adjust
from bsx.data.output import atomic_text

NAMES = ("bertscore", "sentence-qe", "sentence-qe, clp", "xmoverscore", "xmoverscore, clp", "muse-v3-qe", "chrf")
RESAMPLES = 2000


@dataclass(frozen=True)
class DataSet:
    """Rows of the paper: which side is the source, and its languages."""

    name: str
    source: str
    candidate: str
    factors: tuple[str, ...]
    languages: Pair


SETS = (
    DataSet("wmt-de", "sentence1", "sentence2", ("sem", "syn", "bleu_s", "morph"), ("deu", "eng")),
    DataSet("wmt-zh", "sentence1", "sentence2", ("sem", "syn", "bleu_s"), ("cmn", "eng")),
    DataSet("sts-de", "sentence1", "sentence2", ("sem", "syn", "bleu_s", "morph"), ("deu", "eng")),
    DataSet("sts-zh", "sentence1", "sentence2", ("sem", "syn", "bleu_s"), ("cmn", "eng")),
    DataSet("mlqe-de", "sentence2", "sentence1", ("sem", "syn", "bleu_s", "morph"), ("eng", "deu")),
    DataSet("mlqe-zh", "sentence2", "sentence1", ("sem", "syn", "bleu_s"), ("eng", "cmn")),
)
TOP = {"chrf": 100.0}  # a metric's score of a text with itself, if that is not 1
TREEBANKS = {"en": "UD_English-PUD/en_pud", "de": "UD_German-PUD/de_pud", "zh": "UD_Chinese-PUD/zh_pud"}
CODES = {"en": "eng", "de": "deu", "zh": "cmn"}
# Tables 11 (German) and 5 (Chinese) of the paper: the coefficient of CLB, and R² with it.
PRINTED = {
    "wmt-de": {"XMoverScore": (0.63, 0.61), "LASER": (0.40, 0.46), "mUSE": (0.35, 0.34), "LaBSE": (0.45, 0.38)},
    "wmt-zh": {"XMoverScore": (0.59, 0.68), "LASER": (0.34, 0.43), "mUSE": (0.30, 0.40), "LaBSE": (0.30, 0.40)},
    "sts-de": {"XMoverScore": (0.40, 0.54), "LASER": (0.11, 0.58), "mUSE": (0.11, 0.61), "LaBSE": (0.12, 0.62)},
    "sts-zh": {"XMoverScore": (0.48, 0.53), "LASER": (0.17, 0.55), "mUSE": (0.14, 0.61), "LaBSE": (0.10, 0.58)},
}


def translations(data: Path, part: DataSet, rows: list[dict[str, str]]) -> list[str] | None:
    """Return a good English translation of every source: WMT's reference, or the STS sentence it was made from."""
    name, language = part.name.split("-")
    if name == "mlqe":
        return None
    if name == "wmt":
        years = [read(data / "wmt" / f"daseg-wmt{year}.tsv") for year in (15, 16, 17)]
        pair = f"{language}-en"
        known = {row["source"]: row["reference"] for year in years for row in year if row["lp"] == pair}
        return [known[row["sentence1"]] for row in rows]
    english = read(data / "kaster2021" / "sts-en.tsv")
    return [english[int(row["row"])]["sentence2"] for row in rows]


def line(label: str, result: DisentangleResult, name: str, factors: tuple[str, ...]) -> str:
    fit = result[name]
    cells = [f"{fit.coef[f]:.2f}{'' if fit.p[f] < 0.05 else '*'}" if f in fit.coef else "" for f in factors]
    shares = " / ".join(f"{share:.2f}" for share in fit.r2_share.values())
    return f"| {label} | {' | '.join(cells)} | {fit.r2:.2f} | {shares} |"


def tests(table: dict[str, object], pairs: list[tuple[str, str]], factors: tuple[str, ...]) -> list[str]:
    """Return lines of a table that tests equal coefficients, corrected for all of them by Holm's method."""
    found = [
        (a, b, factor, comparison)
        for a, b in pairs
        for factor, comparison in compare_coefficients(
            table, a, b, factors, cluster="source", resamples=RESAMPLES
        ).by.items()
    ]
    corrected = adjust([comparison.p_two_sided for *_, comparison in found], "holm")
    cells = {
        (a, b, factor): f"{c.difference:+.2f} [{c.low:+.2f}, {c.high:+.2f}]{'' if p < 0.05 else '*'}"
        for (a, b, factor, c), p in zip(found, corrected, strict=True)
    }
    return [
        f"| {label(a)} − {label(b)} | " + " | ".join(cells[a, b, factor] for factor in (*factors, "r2")) + " |"
        for a, b in pairs
    ]


def label(name: str) -> str:
    return f"their {PUBLISHED[name]}" if name in PUBLISHED else f"`{name}`"


def section(data: Path, cache: Path, part: DataSet, least: int) -> tuple[list[str], dict[str, str]]:
    """Return the page's part on one set, and the signatures."""
    rows = [row | {"row": str(i)} for i, row in enumerate(read(data / "kaster2021" / f"{part.name}.tsv"))]
    if not part.name.startswith("mlqe"):
        rows = rows[:: max(1, len(rows) // least)]
    start = maps(data, cache, part.languages)
    sources, candidates = ([row[side] for row in rows] for side in (part.source, part.candidate))
    found, signatures = scored(cache / f"{part.name}-{len(rows)}.npz", candidates, sources, start, NAMES)
    ours = {name: found[name] for name in NAMES}
    columns = [*part.factors, *PUBLISHED]
    table: dict[str, object] = {name: np.array([float(row[name]) for row in rows]) for name in columns}
    table |= dict(ours) | {"source": sources}
    factors = part.factors
    result = disentangle(table, [*ours, *PUBLISHED], factors, se="cluster", cluster="source")
    heads = {"sem": "SEM", "syn": "SYN", "bleu_s": "LEX", "morph": "MOR"}
    head = " | ".join(heads[factor] for factor in factors)
    lines = [f"## {part.name}: {len(rows):,} pairs, {len(set(sources)):,} sources", ""]
    lines += [f"| scores | {head} | R² | shares of R² |", "|---|" + "---:|" * (len(factors) + 1) + "---|"]
    lines += [line(label(name), result, name, factors) for name in (*ours, *PUBLISHED)]
    pairs = [
        ("muse-v3-qe", "mUSE"),
        ("xmoverscore", "xmover"),
        ("xmoverscore, clp", "xmover"),
        ("sentence-qe", "labse"),
        ("sentence-qe, clp", "sentence-qe"),
        ("bertscore", "sentence-qe"),
    ]
    lines += ["", f"| difference | {head} | R² |", "|---|" + "---|" * (len(factors) + 1)]
    lines += [*tests(table, pairs, factors), ""]
    near = [
        f"{label(a)} with {label(b)} {pearson(table[a], table[b]).estimate:.2f}"  # type: ignore[arg-type]
        for a, b in pairs[:4]
    ]
    lines += [f"Pearson's r: {', '.join(near)}.", ""]
    good = translations(data, part, rows)
    if good is not None:
        lines += clb_lines(part, table, list(ours), clb_scores(cache, part, sources, good, start))
    return lines, signatures


def clb_scores(cache: Path, part: DataSet, sources: list[str], good: list[str], start: Path) -> Scores:
    """Return each metric's own CLB: its score of each source with a good translation."""
    file = cache / f"{part.name}-{len(sources)}-clb.npz"
    pairs = list(dict.fromkeys(zip(sources, good, strict=True)))
    found, _ = scored(file, [b for _, b in pairs], [a for a, _ in pairs], start, NAMES)
    return {name: cross_lingual_bias(lambda a, b, name=name: found[name], sources, good) for name in NAMES}  # type: ignore[misc]


def clb_lines(part: DataSet, table: dict[str, object], metrics: list[str], clb: Scores) -> list[str]:
    """Return a table of the regressions with CLB as a further factor, beside the paper's."""
    lines = ["| scores | CLB | R² without | R² with CLB |", "|---|---:|---:|---:|"]
    for name in metrics:
        both = table | {"clb": clb[name]}
        without = disentangle(both, [name], part.factors, se="cluster", cluster="source")[name]
        fit = disentangle(both, [name], [*part.factors, "clb"], se="cluster", cluster="source")[name]
        star = "" if fit.p["clb"] < 0.05 else "*"
        lines.append(f"| `{name}` | {fit.coef['clb']:.2f}{star} | {without.r2:.2f} | {fit.r2:.2f} |")
    lines += [f"| their {name}, printed | {a:.2f} | | {r2:.2f} |" for name, (a, r2) in PRINTED[part.name].items()]
    return [*lines, ""]


def texts_of(data: Path, language: str) -> list[str]:
    file = data / "ud" / f"{TREEBANKS[language]}-ud-test.conllu"
    lines = file.read_text(encoding="utf-8").splitlines()
    return [text.removeprefix("# text = ") for text in lines if text.startswith("# text = ")]


def bias(data: Path, cache: Path, least: int) -> list[str]:
    """Return the page's part on PUD: scores of human translations, beside those of other sentences."""
    texts = {language: texts_of(data, language) for language in TREEBANKS}
    heads = {
        language: [s.parse.heads for s in read_conllu(data / "ud" / f"{name}-ud-test.conllu")]
        for language, name in TREEBANKS.items()
    }
    step = max(1, len(texts["en"]) // least)
    n = len(texts["en"][::step])
    lines = [
        f"## Cross-lingual bias on PUD: {n:,} sentences and their translations",
        "",
        BIAS,
        "",
        "| languages | scores | translation: mean | sd | other sentence: mean | sd | reach | own translation wins | "
        "SYN | length | R² |",
        "|---|---|---:|---:|---:|---:|---|---:|---:|---:|---:|",
    ]
    shift = np.roll(np.arange(n), -n // 2)  # a sentence of another text, which says something else
    draws = np.random.default_rng(1).integers(0, n, size=(RESAMPLES, n))
    for one, two in combinations(TREEBANKS, 2):
        left, right = (
            texts[two][::step],
            texts[one][::step],
        )  # a map is for the sources
        start = maps(data, cache, (CODES[two], CODES[one])) if one == "en" else None  # Tatoeba has English alone
        other = [right[i] for i in shift]
        found, _ = scored(cache / f"pud-{two}-{one}-{n}.npz", [*right, *other], [*left, *left], start, NAMES)
        syn = syn_scores(list(zip(heads[one][::step], heads[two][::step], strict=True)))
        length = np.log([len(a) for a in heads[one][::step]])
        for name, values in ((name, found[name]) for name in NAMES if name in found):
            own, else_ = values[:n], values[n:]
            top = TOP.get(name, 1.0)
            a, b = own[draws].mean(axis=1), else_[draws].mean(axis=1)
            low, high = np.percentile((a - b) / (top - b), [2.5, 97.5])
            reach = (own.mean() - else_.mean()) / (top - else_.mean())
            wins = 100 * float((own > else_).mean())
            fit = disentangle({"m": own, "syn": syn, "length": length}, ["m"], ["syn", "length"], se="hc3")["m"]
            stars = {factor: "" if fit.p[factor] < 0.05 else "*" for factor in fit.coef}
            lines.append(
                f"| {one}-{two} | `{name}` | {own.mean():.3f} | {own.std():.3f} | {else_.mean():.3f} | "
                f"{else_.std():.3f} | {reach:.2f} [{low:.2f}, {high:.2f}] | {wins:.1f} % | {fit.coef['syn']:.2f}"
                f"{stars['syn']} | {fit.coef['length']:.2f}{stars['length']} | {fit.r2:.2f} |"
            )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--pud", type=int, default=1000)
    parser.add_argument("--sets", default=",".join([*(part.name for part in SETS), "pud"]))
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(__file__).parent / "agreement" / "multilingual-factors.md"
    )
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    parts: list[str] = []
    wanted = options.sets.split(",")
    for part in (part for part in SETS if part.name in wanted):
        lines, signatures = section(options.data, options.cache, part, options.rows)
        print("\n".join(lines), flush=True)
        parts += lines
    if "pud" in wanted:
        parts += bias(options.data, options.cache, options.pud)
    shown = [f"- `{name}`: `{signatures[name]}`" for name in NAMES]
    command = "python benchmarks/multilingual_factors.py --data FOLDER --cache FOLDER"
    command += f" --rows {options.rows} --pud {options.pud}"
    if len(wanted) <= len(SETS):
        command += f" --sets {options.sets}"
    page = [HEAD.format(command=command, findings=FINDINGS), *parts]
    page += [
        "## Signatures",
        "",
        "Of the last set; maps differ by direction.",
        "",
        *shown,
        "",
        f"statsmodels {version('statsmodels')}.",
    ]
    with atomic_text(options.output) as stream:
        stream.write("\n".join(page) + "\n")


HEAD = """# What do metrics across languages measure?

```console
$ {command}
```

Rows, human judgments and factors are those that Kaster, Zhao & Eger 2021 published, and so are the scores called
"their …"; ours are computed here, on `me5-small-q4` where a metric has an encoder, between source and candidate,
without references. "clp" is with a map of the source's vectors, fitted on 700 pairs of Tatoeba. SEM is the human score,
SYN the likeness of the trees, LEX (`bleu_s`) and MOR (`morph`) that of words and word forms after machine translation.
As in the paper everything is standardised; a star is p >= 0.05, with standard errors clustered by source.

The second table of each set tests whether two metrics depend on a factor alike: the difference of their coefficients,
and of R², with its 95 % interval over 2,000 resamples of sources that both share. A star there is p >= 0.05 after
Holm's correction for all tests of the set.
{findings}"""
BIAS = """Each sentence with its human translation, and with a translation of another sentence. Reach is how far from
the one mean to the score of a text with itself the other mean is (95 % interval over 2,000 resamples of sentences). SYN
and length: standardised coefficients of the translation's score on the likeness of the two gold trees and on the log of
the first language's words; a star is p >= 0.05 (HC3)."""
FINDINGS = """
What the tests below support:

- **Matched tokens and sentence vectors measure different things.** On all six sets BERTScore leans more on words than
  `sentence-qe` (LEX +0.14 to +0.33). On STS it depends less on meaning (-0.30 and -0.21) and more on structure (+0.21
  and +0.17), as on MLQE into Chinese (+0.12); the other differences in meaning and structure do not hold. On MLQE
  meaning explains neither.
- **mUSE and the student published under its name** have r .91 on STS, where no coefficient tells them apart, .68 and
  .75 on WMT, .70 and .74 on MLQE. On MLQE the student depends more on meaning (by 0.09 and 0.08); on WMT from German
  mUSE depends more on word forms (by 0.13).
- **A map** makes `sentence-qe` depend more on meaning (+0.07) and less on words (-0.05) on MLQE into German, and less
  on word forms (-0.18) on WMT from German; no other difference holds.
- **XMoverScore** on this encoder depends far more on meaning than the published scores on STS (+0.52 and +0.30), and
  less on WMT (-0.21 and -0.24) and MLQE (-0.13 and -0.17). On WMT it depends more on structure (+0.28 twice). The
  published scores come from another encoder and had a language model's opinion of the candidate mixed in.
- **Cross-lingual bias.** On WMT and STS, every metric's score is higher where its score of a good translation of the
  source (CLB) is, whatever the candidate: p < 0.05 for all, beyond all factors. Of the metrics with an encoder, mUSE
  gains least R² by it on STS (0.05 and 0.04), and XMoverScore most on the Chinese sets (0.67 and 0.52): there it is
  mostly a figure of the source, of whose pieces it leaves out nearly all ([reference-free.md](reference-free.md)). The
  paper's XMoverScore has the largest coefficient of CLB of its four, too. For sentence vectors it prints 0.30 to 0.45
  on WMT and 0.10 to 0.17 on STS; here they have 0.38 to 0.73, and 0.20 to 0.48.
- **English and Chinese are further apart than English and German for every metric** on PUD: a translation reaches .38
  instead of .52 of the way from another sentence to the text itself for BERTScore, .53 instead of .76 for mUSE. Scores
  of two language pairs cannot be compared.
- **BERTScore across languages goes with kept structure** (SYN from gold trees: .34, .29, .19);
  no coefficient of sentence vectors there is beyond chance.
"""

if __name__ == "__main__":
    main()
