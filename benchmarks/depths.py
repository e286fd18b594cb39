"""The layer of a model of which nobody validated one: the rule, and what it loses.

Run: python benchmarks/depths.py --data DATA --work WORK

DATA holds multi_summeval/, published BERTScores of nine encoders by layer; WORK is that of benchmarks/spaces.py, which
has all layers of MiniLM and me5 on human-judged sets. The rule is learnt from the layers of the registry's models:
a share of the depth, by kind of model. Written are registry/depths.yaml and benchmarks/agreement/depths.md.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.languages import read
from benchmarks.spaces import MODELS, file_of, wanted
from bsx.catalog.catalog import shipped
from bsx.data.output import atomic_text

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).with_name("agreement") / "depths.md"
RULES = ROOT / "registry" / "depths.yaml"
KIN = {
    "mt5": "t5",
    "mbart": "bart",
    "led": "bart",
    "xlm-prophetnet": "prophetnet",
    "blenderbot-small": "blenderbot",
    "xlm-roberta": "roberta",
    "longformer": "roberta",
    "big_bird": "roberta",
    "deberta-v2": "deberta",
}
"""Architectures that are left out together with the one that they are made from."""
TUNED = re.compile("mnli|mrpc|squad|triviaqa|trivia-itc|finbert|detector|cnn|xsum|araphr|mmt|en-ro|Paws")
SENTENCES = re.compile("simcse|minilm|me5")
DISCRIMINATORS = re.compile("electra.*discriminator|deberta-v3")
SHARES = (1 / 2, 3 / 5, 2 / 3, 3 / 4, 5 / 6, 1.0)
MID_DEPTH = "Skean et al. 2025 (arXiv:2502.02013): the layers of decoders in mid-depth make the best embeddings"
HEAD = """# The layer of a model of which nobody validated one: its depth times a share, rounded, by kind of model.
# Made by benchmarks/depths.py; benchmarks/agreement/depths.md says how.
#   error  layers between it and the best, of models left out with their family: median, and 90 % quantile
#   lost   Pearson's r against the best layer, over so many sweeps: median, and 90 % quantile
"""
PAGE = """# A layer where nobody validated one

```text
python benchmarks/depths.py --data DATA --work WORK
```

Of {models} models the layer was validated, nearly all by bert-score on WMT16 into English. How far from it is
the layer that the median share of the depth gives, of all models or of those of a group, in models that it was not
learnt from? Each model is left out by itself, or all of its family: architectures made from one another are one family.

| share of | mean, one out | 90 % | mean, family out | median | 90 % |
|---|---|---|---|---|---|
"""


ENCODERS = """Encoders were measured at all layers too, and the median share, 3/4, is not the best one. Of
the shares 1/2, 3/5, 2/3, 3/4, 5/6 and 1 those count whose layers are about as near to the validated ones as
the nearest (a mean error of up to a tenth more); of these the one is taken that loses least r in the sweeps
below, each model counting once: {share:.3f}. Chosen without the model that it is applied to, it loses
{median:.3f} of r (median), and at most {most:.3f} in nine of ten of {sweeps} sweeps of translations and
summaries. Other kinds have no sweeps: of encoder-decoders the median share counts.

"""


@dataclass(frozen=True)
class Known:
    """A model with a validated layer."""

    name: str
    family: str
    kind: str
    training: str
    layer: int
    depth: int


def training(name: str, family: str, kind: str) -> str:
    """Return what a model was trained for last, by its name."""
    for said, pattern in (("sentences", SENTENCES), ("task", TUNED), ("discriminator", DISCRIMINATORS)):
        if pattern.search(name):
            return said
    return "permutation" if family == "xlnet" else "denoising" if kind == "encoder-decoder" else "masked"


def known() -> list[Known]:
    """Return the registry's models with a validated layer."""
    catalog, models = shipped(), []
    for entry in catalog.models.values():
        if isinstance(entry.layer, int):
            kind = catalog.families[entry.family].kind
            purpose = training(entry.name, entry.family, kind)
            family = KIN.get(entry.family, entry.family)
            models.append(Known(entry.name, family, kind, purpose, entry.layer, entry.layers))
    return models


def rounded(share: float, depth: int) -> int:
    return int(share * depth + 0.5)


def by_median(group: Callable[[Known], str], train: Sequence[Known], model: Known) -> int:
    """Return the layer of a model by the median share of its group, or of all where there is none."""
    own = [one.layer / one.depth for one in train if group(one) == group(model)]
    return rounded(float(np.median(own or [one.layer / one.depth for one in train])), model.depth)


GROUPS: dict[str, Callable[[Known], str]] = {
    "one share for all": lambda model: "",
    "kind": lambda model: model.kind,
    "training": lambda model: model.training,
    "kind x training": lambda model: f"{model.kind}, {model.training}",
    "family, else all": lambda model: model.family,
}


def errors(group: Callable[[Known], str], models: Sequence[Known], *, families: bool) -> list[int]:
    """Return how many layers each model is off when it, or its family, is left out."""
    return [
        abs(by_median(group, [o for o in models if (o.family != m.family if families else o is not m)], m) - m.layer)
        for m in models
    ]


@dataclass(frozen=True)
class Sweep:
    """Pearson's r of F1 by layer: of a model on a set, without the embedding layer."""

    model: str
    data: str
    task: str
    r: tuple[float, ...]

    def lost(self, share: float) -> float:
        """Return how far the layer at a share of the depth is behind the best one."""
        return max(self.r) - self.r[max(rounded(share, len(self.r)), 1) - 1]


def published(data: Path) -> Iterator[Sweep]:
    """Yield the sweeps of Multi-SummEval: the mean r with focus and coverage."""
    for lang in ("en", "id", "fr", "tr", "zh"):
        human = list(read(data / f"multi_summeval/{lang}.tsv"))
        scores = {(row["id"], row["system"]): row for row in read(data / f"multi_summeval/{lang}.metrics.tsv.gz")}
        rows = [scores[row["id"], row["system"]] for row in human]
        columns = [match for name in rows[0] if (match := re.fullmatch(r"bertscore-(.+)-L(\d+)-P", name))]
        for model in dict.fromkeys(match[1] for match in columns):
            r = []
            for layer in range(1, 1 + sum(match[1] == model for match in columns)):
                p, q = (
                    np.array([float(row[f"bertscore-{model}-L{layer}-{side}"]) for row in rows]) for side in ("P", "R")
                )
                f1 = 2 * p * q / (p + q)
                judged = ([float(row[name]) for row in human] for name in ("focus", "coverage"))
                r.append(float(np.mean([np.corrcoef(f1, y)[0, 1] for y in judged])))
            yield Sweep(model, f"Multi-SummEval {lang}", "summary", tuple(r))


def measured(work: Path) -> Iterator[Sweep]:
    """Yield the sweeps of models that run here."""
    for model in MODELS:
        for judged in wanted(model):
            kept = np.load(file_of(work, model, judged))
            raw = kept["f1"][0, 0, 1:].astype(np.float64)
            r = np.mean([[np.corrcoef(x, y)[0, 1] for x in raw] for y in kept["human"]], axis=0)
            yield Sweep(model, judged.name, judged.kind, tuple(r.tolist()))


def chosen(models: Sequence[Known], sweeps: Sequence[Sweep]) -> float:
    """Return the share of `SHARES` that loses least r, of those about as near to the validated layers as the nearest.

    A model counts once, however many sweeps it has; about as near is a mean error of up to a tenth more.
    """
    off = [np.mean([abs(rounded(share, one.depth) - one.layer) for one in models]) for share in SHARES]
    near = [share for share, error in zip(SHARES, off, strict=True) if error <= 1.1 * min(off)]
    names = {sweep.model for sweep in sweeps}
    return min(near, key=lambda share: float(np.mean([mean_lost(sweeps, name, share) for name in names])))


def mean_lost(sweeps: Sequence[Sweep], model: str, share: float) -> float:
    return float(np.mean([sweep.lost(share) for sweep in sweeps if sweep.model == model]))


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    return float(np.median(values)), float(np.quantile(values, 0.9))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    args = parser.parse_args()
    models, page, rules = known(), "", HEAD
    page = PAGE.format(models=len(models))
    for name, group in GROUPS.items():
        alone, apart = (errors(group, models, families=families) for families in (False, True))
        middle, most = quantiles(apart)
        page += f"| {name} | {np.mean(alone):.2f} | {quantiles(alone)[1]:.0f} | {np.mean(apart):.2f} | "
        page += f"{middle:.0f} | {most:.0f} |\n"
    page += "\nWhat a model was trained for adds nothing to its kind.\n\n"
    sweeps = [*published(args.data), *measured(args.work)]
    kept = [sweep for sweep in sweeps if sweep.task != "similarity"]
    encoders = [model for model in models if model.kind == "encoder"]
    share = chosen(encoders, kept)
    # Each model's loss by the share that is chosen without it: no family of the sweeps weighs in the other part.
    lost = [s.lost(chosen(encoders, [o for o in kept if o.model != s.model])) for s in kept]
    page += ENCODERS.format(share=share, median=np.median(lost), most=np.quantile(lost, 0.9), sweeps=len(lost))
    page += "| kind | share | models | layers off, family out: median | 90 % |\n|---|---|---|---|---|\n"
    for kind in ("encoder", "encoder-decoder"):
        own = [model for model in models if model.kind == kind]
        if kind == "encoder":
            value, off = share, []
            for model in own:
                of_others = chosen([other for other in own if other.family != model.family], kept)
                off.append(abs(rounded(of_others, model.depth) - model.layer))
        else:
            value = float(np.median([model.layer / model.depth for model in own]))
            off = errors(GROUPS["kind"], own, families=True)
        middle, most = quantiles(off)
        page += f"| {kind} | {value:.3f} | {len(own)} | {middle:g} | {most:.0f} |\n"
        rules += f"- kind: {kind}\n  share: {value:.4f}\n  models: {len(own)}\n"
        rules += f"  error: {{median: {middle:g}, most: {most:.0f}}}\n"
        if kind == "encoder":
            middle, most = quantiles(lost)
            rules += f"  lost: {{median: {middle:.3f}, most: {most:.3f}}}\n  sweeps: {len(kept)}\n"
        rules += "  source: benchmarks/agreement/depths.md\n"
    rules += f'- kind: decoder\n  share: 0.5\n  models: 0\n  source: "{MID_DEPTH}"\n'
    page += "\nOf decoders no layer was validated; their share, .5, is that of a study of embeddings:\n"
    page += f"{MID_DEPTH}.\n\n## What is lost\n\n"
    page += f"All layers of {len({sweep.model for sweep in sweeps})} encoders were measured on sets with human scores. "
    page += (
        "Pearson's r that the layer at a share of the\ndepth loses against the best layer of the set, which is chosen "
    )
    page += "on the same rows, so that the losses are too large rather than\ntoo small: mean, median, 90 %. "
    page += "The last column is the top layer.\n\n"
    page += f"| sweeps | n | {' | '.join(f'{one:.2f}' for one in SHARES)} |\n{'|---' * (len(SHARES) + 2)}|\n"
    parts = {
        "translations (MiniLM, me5)": [sweep for sweep in sweeps if sweep.task == "translation"],
        "summaries (11 models)": [sweep for sweep in sweeps if sweep.task == "summary"],
        "both": kept,
        "similarity (MiniLM, me5)": [sweep for sweep in sweeps if sweep.task == "similarity"],
    }
    for name, some in parts.items():
        cells = []
        for one in SHARES:
            values = [sweep.lost(one) for sweep in some]
            cells.append(", ".join(f"{value:.3f}" for value in (np.mean(values), *quantiles(values))))
        page += f"| {name} | {len(some)} | {' | '.join(cells)} |\n"
    page += "\n| model | data | layers | best | share | r there | r lost by the rule | by the top layer |\n"
    page += f"{'|---' * 8}|\n"
    for sweep in sweeps:
        best = int(np.argmax(sweep.r)) + 1
        page += f"| {sweep.model} | {sweep.data} | {len(sweep.r)} | {best} | {best / len(sweep.r):.2f} | "
        page += f"{max(sweep.r):.3f} | {sweep.lost(share):.3f} | {sweep.lost(1):.3f} |\n"
    for file, content in ((RULES, rules), (RESULTS, page)):
        with atomic_text(file) as stream:
            stream.write(content)


if __name__ == "__main__":
    main()
