"""Curves of factors on published scores: python benchmarks/bends.py DATA.

DATA holds the tables of Kaster, Zhao & Eger 2021 (wmt-en.tsv and sts-en.tsv). Writes benchmarks/agreement/bends.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.result import DisentangleResult
from bsx.analysis.present.markdown import rows_of
from bsx.analysis.present.numbers import p_value
from bsx.data.columns import read_columns
from bsx.data.output import atomic_text

TABLES = {"wmt-en": "WMT15-17, into English", "sts-en": "STS benchmark, English"}
FACTORS = ["sem", "syn", "bleu", "morph"]
METRICS = ["bert", "mover", "sbert", "sbert_wk", "bleurt", "laser", "mUSE", "labse", "mSBERT"]


def curves(result: DisentangleResult) -> str:
    rows: list[Sequence[str]] = [
        ("metric", "lines", "curves", "lines, new rows", *(f"{f} bent" for f in FACTORS), "all")
    ]
    for metric in METRICS:
        own = [bend for bend in result.bends if bend.metric == metric]
        cells = [f"{bend.out_curve - bend.out_line:+.3f} ({p_value(bend.p_adjusted)})" for bend in own]
        rows.append((metric, f"{own[0].r2_line:.3f}", f"{own[-1].r2_curve:.3f}", f"{own[0].out_line:.3f}", *cells))
    return rows_of(rows[0], rows[1:], range(1, len(rows[0])))


def part(data: Path, name: str, folder: Path) -> list[str]:
    table = read_columns(data / f"{name}.tsv", [*METRICS, *FACTORS], texts=["sentence1", "sentence2"])
    result = disentangle(table, METRICS, FACTORS, spline=FACTORS, correction="holm")
    result.plot(folder / f"bends-{name}.svg", chart="The curve of sem")
    return [
        f"## {TABLES[name]}: {result.n:,} pairs",
        f"Standard errors: {result.se}; {result.se_reason}.",
        "R² of straight lines and of curves for all factors; then what bending each factor adds to R² on new rows, "
        f"with p for no curve (Holm, {len(result.bends)} tests).",
        curves(result),
        f"![Curves of SEM](bends-{name}.svg)",
    ]


HEAD = """# Curves of factors

The regressions of Kaster, Zhao & Eger 2021 on their published scores, asked a further question: do the factors act in
straight lines? Each is bent by a natural spline with five knots, and the gain measured on new rows too, with the same
folds. [docs/explain/disentangling.md](../../docs/explain/disentangling.md) explains it.

```console
$ python benchmarks/bends.py DATA
$ bsx disentangle DATA/wmt-en.tsv --columns bleurt --factor-columns sem,syn,bleu,morph --spline sem,bleu
```

The second command repeats a part by hand.

"""

FINDINGS = """What to read from it:

- With thousands of rows nearly every curve is significant, so the gain on new rows counts. On WMT, straight lines
  are enough for BERTScore (+.003 of R² with all factors bent) and BLEURT (+.002); sentence embeddings gain .016 to
  .027.
- MoverScore is the exception (+.068 on WMT, +.064 on STS). It is convex in LEX, which alone gains .056: a step in
  LEX from .7 to 1 adds 2.7 standard deviations, one from .2 to .5 adds about .5. A straight line understates what
  it pays for near copies.
- Metrics made of sentence vectors are concave in SEM, most of all on STS (SBERT and mUSE +.04): they tell unrelated
  pairs from half-related ones and hardly tell good paraphrases from better ones, as one standard deviation from SEM
  0 to 1 and the same from 2 to 5 show.
"""


def main(data: Path, folder: Path) -> None:
    blocks = [block for name in TABLES for block in part(data, name, folder)]
    with atomic_text(folder / "bends.md") as stream:
        stream.write(HEAD + "\n\n".join([FINDINGS.strip(), *blocks]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).with_name("agreement"))
