"""What noise in human judgments does to the published regressions: python benchmarks/measurement_error.py DATA.

DATA holds the tables of Kaster, Zhao & Eger 2021 (wmt-en.tsv and so on). Writes
benchmarks/agreement/measurement-error.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.present.markdown import rows_of
from bsx.data.columns import read_columns
from bsx.data.output import atomic_text
from bsx.errors import InputError

MULTI, CROSS = ["sem", "syn", "bleu", "morph"], ["sem", "syn", "bleu_s", "morph"]
# file -> its name, factors
TABLES: dict[str, tuple[str, list[str]]] = {
    "wmt-en": ("WMT15-17, into English", MULTI),
    "sts-en": ("STS benchmark, English", MULTI),
    "wmt-zh": ("WMT, Chinese-English, against the source", CROSS),
    "sts-zh": ("STS, Chinese-English", CROSS),
    "wmt-de": ("WMT, German-English, against the source", CROSS),
    "sts-de": ("STS, German-English", CROSS),
    "mlqe-de": ("MLQE, German", CROSS),
    "mlqe-zh": ("MLQE, Chinese", CROSS),
}
NOT_METRICS = {"sentence1", "sentence2", "sem", "syn", "bleu", "morph", "bleu_s", "bleu_w", "fasttext"}
RELIABILITIES = (0.8, 0.7, 0.6)


def cell(value: float, significant: bool) -> str:
    return f"{value:.3f}{'' if significant else '*'}"


def corrected(
    table: Mapping[str, object], metrics: list[str], factors: list[str], reliability: float
) -> dict[str, list[str]]:
    """Return metric -> its coefficients but SEM's at this reliability; dashes where the data rule it out."""
    found = {}
    for metric in metrics:  # each by itself: what one of them rules out does not stop the others
        try:
            result = disentangle(table, [metric], factors, reliability={"sem": reliability})
            fit = result.variant("errors-in-variables")[metric]
            found[metric] = [cell(fit.coef[name], fit.significant[name]) for name in factors]
        except InputError:
            found[metric] = ["-"] * len(factors)
    return found


def part(data: Path, name: str) -> list[str]:
    title, factors = TABLES[name]
    with (data / f"{name}.tsv").open(encoding="utf-8") as stream:
        columns = stream.readline().rstrip("\n").split("\t")
    metrics = [column for column in columns if column not in NOT_METRICS]
    factors = [factor for factor in factors if factor in columns]
    table = read_columns(data / f"{name}.tsv", [*metrics, *factors], texts=["sentence1", "sentence2"])
    result = disentangle(table, metrics, factors, controls=["length"])
    controls = result.variant("controls")
    lex = factors[2]
    at = {value: corrected(table, metrics, factors, value) for value in RELIABILITIES}
    rows = [["metric", "LEX", *(f"at {value:g}" for value in RELIABILITIES)]]
    held_back = [factor for factor in ("syn", "morph") if factor in factors]
    names = {"syn": "SYN", "morph": "MOR"}
    lengths = [["metric", *(cell for factor in held_back for cell in (names[factor], f"{names[factor]} with length"))]]
    for fit in result.results:
        own = cell(fit.coef[lex], fit.significant[lex])
        now = [at[value][fit.metric][2] for value in RELIABILITIES]
        rows.append([fit.metric, own, *now])
        held = controls[fit.metric]
        cells = [fit.metric]
        for factor in held_back:
            cells += [
                cell(fit.coef[factor], fit.significant[factor]),
                cell(held.coef[factor], held.significant[factor]),
            ]
        lengths.append(cells)
    return [
        f"## {title}: {result.n:,} pairs",
        "",
        f"Standard errors: {result.se}; {result.se_reason}.",
        "",
        rows_of(rows[0], rows[1:], range(1, len(rows[0]))),
        "",
        rows_of(lengths[0], lengths[1:], range(1, len(lengths[0]))),
        "",
    ]


def main(data: Path) -> None:
    lines = [line for name in TABLES for line in part(data, name)]
    with atomic_text(Path(__file__).with_name("agreement") / "measurement-error.md") as stream:
        stream.write(f"{HEAD}\n" + "\n".join(lines).rstrip() + "\n")


HEAD = """# What noise in human judgments does to the published regressions

SEM, the factor of meaning in Kaster, Zhao & Eger 2021, is a human score, and the paper does not say how reliable it is.
A factor with noise takes too small a coefficient, and factors that go with it, LEX first, take over what is missing.
Here the regressions of the paper's published scores are corrected by the method of moments for several assumed
reliabilities of SEM, with standard errors for rows that share a text. A star is p >= .05.

```console
$ python benchmarks/measurement_error.py DATA
$ bsx disentangle DATA/wmt-en.tsv --columns bleurt,mover --factor-columns sem,syn,bleu,morph --reliability sem=.6
```

The second command repeats a part by hand. The reliabilities are assumptions, the same for all rows. In WMT15-17 a
segment's score is the mean of at least 15 judgments of varying quality; STS scores are means of five.

What to read from it: on WMT, at a reliability of .6, hardly anything of LEX is left in BLEURT (.305 to .040) and SBERT
(.221 to .016), while MoverScore (.493) and BERTScore (.468) keep most of it. That a metric goes with shared words
whatever the meaning is a safe conclusion for some metrics only. The second table of each data set has the coefficients
of SYN and MOR with length held constant: the logarithm of the words in both texts, and of their ratio.
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]))
