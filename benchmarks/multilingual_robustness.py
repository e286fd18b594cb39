"""Can metrics on me5-small-q4 be fooled in German, Chinese, Russian, French, Spanish? PAWS-X pairs and perturbations.

Run: python benchmarks/multilingual_robustness.py --data DATA --work WORK

DATA holds paws/, ud/, mono/ and wmt/. Runs the commands that the page shows, in WORK, where results are kept: what is
there already is not computed again. Writes benchmarks/agreement/multilingual-robustness.md and a picture beside it.
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bsx.analysis import get_perturbation
from bsx.analysis.present import charts
from bsx.analysis.present.parts import Chart
from bsx.analysis.present.pictures import picture
from bsx.data.output import atomic_text

METRICS = "bertscore,chrf"
PAIRS = "bertscore,sentence,chrf,sentbleu"
LANGUAGES = {"de": "German", "zh": "Chinese", "en": "English", "fr": "French", "es": "Spanish", "ru": "Russian"}
CHANGES = (
    "no-punctuation spelling marks small-nouns function-words typos noun-swap subject-object negation opposites "
    "modality numbers dates entities shuffle drop-words"
)
TREEBANKS = {"en": "UD_English-PUD/en", "de": "UD_German-PUD/de", "zh": "UD_Chinese-PUD/zh"}
ROWS = 150
LEAST = 10  # texts that a figure is about
PAGE = Path(__file__).with_name("agreement") / "multilingual-robustness.md"


def tables(data: Path, work: Path) -> None:
    """Write the texts of each language, and where there are gold trees, these."""
    for lang in LANGUAGES:
        if lang in TREEBANKS:
            trees = (
                (data / f"ud/{TREEBANKS[lang]}_pud-ud-test.conllu").read_text(encoding="utf-8").strip().split("\n\n")
            )
            kept = trees[:ROWS]
            with atomic_text(work / f"{lang}.conllu") as stream:
                stream.write("\n\n".join(kept) + "\n\n")
            texts = [line[9:] for tree in kept for line in tree.split("\n") if line.startswith("# text = ")]
        elif lang == "ru":
            with (data / "wmt/daseg-wmt17.tsv").open(encoding="utf-8", newline="") as stream:
                rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
                texts = list(dict.fromkeys(row["reference"] for row in rows if row["lp"] == "en-ru"))[:ROWS]
        else:
            texts = (data / f"mono/newstest2013/newstest2013-ref.{lang}").read_text(encoding="utf-8").split("\n")[:ROWS]
        with atomic_text(work / f"{lang}.tsv") as stream:
            stream.write("\n".join(["reference", *texts]) + "\n")
    for lang in ("de", "zh"):
        with atomic_text(work / f"pawsx-{lang}-dev.tsv") as stream:
            stream.write((data / f"paws/pawsx-{lang}-dev.tsv").read_text(encoding="utf-8"))


def command(kind: str, lang: str) -> str:
    if kind == "pairs":
        table = f"pawsx-{lang}-dev.tsv"
        return f"bsx adversarial pairs {table} --metrics {PAIRS} -m me5-small-q4 -l {lang} -o pairs-{lang}.json"
    able = [get_perturbation(name) for name in CHANGES.split()]
    names = [one.name for one in able if one.lacks(lang, source=False, parse=lang in TREEBANKS) is None]
    trees = f" --parses {lang}.conllu" if lang in TREEBANKS else ""
    return (
        f"bsx adversarial perturb {lang}.tsv --metrics {METRICS} -m me5-small-q4 -l {lang} --strengths 0.1 "
        f"--perturbations {','.join(names)} --correction holm --encoder cache=vectors{trees} -o perturb-{lang}.json"
    )


def run(kind: str, lang: str, work: Path) -> dict[str, Any]:
    """Return a command's JSON, kept in WORK."""
    kept = work / f"{kind}-{lang}.json"
    if not kept.exists():
        words = [*shlex.split(command(kind, lang).removeprefix("bsx ")), "--format", "json"]
        subprocess.run([sys.executable, "-m", "bsx", *words], cwd=work, check=True)
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def interval(ci: Sequence[float], digits: int = 3) -> str:
    return f"{ci[0]:.{digits}f} to {ci[1]:.{digits}f}"


def published(data: Path) -> dict[tuple[str, str], float]:
    """Return the average precision of cosines that MTEB lists for the model in full precision and MiniLM on PAWS-X."""
    with (data / "published/mteb-sts.tsv").open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {
            (row["model"].split("/")[1], row["subset"]): float(row["value"])
            for row in rows
            if (row["task"], row["split"], row["metric"]) == ("PawsXPairClassification", "validation", "cosine_ap")
        }


def pairs_table(found: dict[str, dict[str, Any]], listed: dict[tuple[str, str], float]) -> list[str]:
    lines = [
        "| language | metric | n | AUC | 95 % interval | average precision | 95 % interval | accuracy |",
        "|---|---|---:|---:|---|---:|---|---:|",
    ]
    for lang, content in found.items():
        for r in content["results"]:
            precision = r["average_precision"]
            lines.append(
                f"| {LANGUAGES[lang]} | {r['metric']} | {r['n']:,} | {r['auc']:.3f} | {interval(r['ci'])} | "
                f"{precision['estimate']:.3f} | {interval(precision['ci'])} | {r['accuracy']['cross_validated']:.3f} |"
            )
    always = ", ".join(f"{LANGUAGES[x]} {c['results'][0]['accuracy']['majority']:.3f}" for x, c in found.items())
    by_chance = ", ".join(f"{LANGUAGES[x]} {c['results'][0]['positives']:.3f}" for x, c in found.items())
    mteb = "; ".join(
        f"{model}, {subset}: {value:.3f}" for (model, subset), value in sorted(listed.items()) if subset in found
    )
    return [
        *lines,
        "",
        f"Always giving the more frequent label is right for {always}. The average precision of chance is {by_chance}. "
        f"Published for cosines of sentence vectors (MTEB, validation): {mteb}.",
        "",
    ]


def perturb_table(found: dict[str, dict[str, Any]], metric: str) -> list[str]:
    """Return drops as shares of the metric's range, a column a language."""
    lines = [
        "| perturbation | meaning | " + " | ".join(LANGUAGES[lang] for lang in found) + " |",
        "|---|---|" + "---|" * len(found),
    ]
    order = {one["perturbation"]: one["preserves"] for content in found.values() for one in content["results"]}
    for name, preserves in sorted(order.items(), key=lambda pair: not pair[1]):
        cells = []
        for content in found.values():
            one = next((r for r in content["results"] if (r["metric"], r["perturbation"]) == (metric, name)), None)
            if one is None or one["n"] < LEAST or one["relative_drop"] is None:
                cells.append("" if one is None else f"({one['n']})")
                continue
            scale = one["drop"] / one["relative_drop"] if one["relative_drop"] else 1.0
            mark = "**" if not preserves and one["p_adjusted"] is not None and one["p_adjusted"] <= 0.05 else ""
            low, high = (end / scale for end in one["ci"])
            cells.append(f"{mark}{one['relative_drop']:.3f}{mark} ({low:.3f} to {high:.3f}; {one['n']})")
        lines.append(f"| {name} | {'keeps' if preserves else 'changes'} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def draw(found: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw how far BERTScore falls, a row a perturbation, a mark a language."""
    shown = ("no-punctuation", "typos", "marks", "function-words", "spelling", "numbers", "dates", "negation")
    shown += ("opposites", "modality", "noun-swap", "drop-words", "shuffle")
    series, points = tuple(LANGUAGES[lang] for lang in found), []
    for name in shown:
        for place, content in enumerate(found.values()):
            for one in content["results"]:
                if (one["metric"], one["perturbation"]) == ("bertscore", name) and one["n"] >= LEAST:
                    scale = one["drop"] / one["relative_drop"] if one["relative_drop"] else 1.0
                    ends = (end / scale for end in one["ci"])
                    points.append(charts.Point(name, place, one["relative_drop"], *ends, series[place]))
    axis = "drop of BERTScore's F1, as a share of clean minus unrelated (95 % interval)"
    alt = f"The {axis}: a row a perturbation, a mark a language."
    spec = charts.intervals(points, alt=alt, axis=axis, series=len(series))
    picture(Chart("Drops of BERTScore by perturbation and language", alt, (("", spec),), series)).save(path)


def page(pairs: dict[str, Any], perturbed: dict[str, Any], listed: dict[tuple[str, str], float], picture: str) -> str:
    versions = perturbed["de"]["provenance"]["versions"]
    lines = [
        HEAD,
        *pairs_table(pairs, listed),
        MIDDLE,
        f"![Drops of BERTScore by perturbation and language]({picture})",
        "",
    ]
    for metric in METRICS.split(","):
        lines += [f"### {metric}", "", *perturb_table(perturbed, metric)]
    lines += ["## Commands", "", "Run in a folder with the tables that the script writes:", "", "```text"]
    lines += [command("pairs", lang) for lang in pairs] + [command("perturb", lang) for lang in perturbed]
    lines += ["```", "", "## Signatures", ""]
    lines += [f"- `{signature}`" for signature in perturbed["de"]["provenance"]["signatures"].values()]
    lines += [f"- {name} {versions[name]}" for name in ("python", "numpy", "onnxruntime", "sacrebleu")]
    return "\n".join(lines) + "\n"


HEAD = """# Robustness beyond English: PAWS-X and perturbations with me5-small-q4

```text
python benchmarks/multilingual_robustness.py --data DATA --work WORK
```

- **PAWS-X.** Pairs share nearly all words; about 43 of 100 are paraphrases. In German and Chinese no metric is far
  from chance: BERTScore (layer 7) has areas of .574 and .570, the cosine of sentence vectors .537 and .544, chrF
  .564 and .570. The best is sentence BLEU in German (.614), whose interval lies above that of the cosine. A chosen
  threshold is right at most .05 more often than always saying "no paraphrase".
- **One word that turns the meaning costs BERTScore less than missing punctuation, in all six languages.** Taking the
  punctuation away costs .087 to .103 of the range; a negation .047 to .071, an opposite .027 to .041, another number
  .014 to .028, another month or weekday .016 to .018 (German, English, Chinese). None of this is above the control
  anywhere.
- **Typing errors cost more than negations** in the five languages with alphabets (.086 to .119), as they break
  words into other pieces; characters of the same sound in Chinese cost .043. Writing ß and umlauts in another way
  costs German .133, small letters for nouns .130: more than any change of meaning there. Full-width marks made half
  as wide cost Chinese .018, but chrF .179.
- **Order counts for more in Chinese**: moving a tenth of the characters costs .142 of the range, in the other
  languages .068 to .101 (of the words); there alone BERTScore sees it, and missing characters, above the control.
- chrF sees moved or missing words above the control in every language, exchanged nouns, subjects and names in English,
  and not the 26 exchanged nouns in German; a negation, an opposite, a number or a date in none.
- Rules were read again by hand since the first edition of this page, and those that were wrong in a language mended or
  withdrawn: fewer texts change, and the figures of what is left moved by .010 at most, but for 26 German nouns.

## PAWS-X, dev

Metrics as detectors of paraphrases; DeLong's interval for the area, bootstrap for average precision. Accuracy: with
a threshold chosen in ten-fold cross-validation.
"""
MIDDLE = f"""The published figure for German is that of the model in full precision on all 2,000 pairs; ours are the
1,932 that have both texts.

## Perturbations

The first {ROWS} sentences of PUD (German, Chinese, English, with gold trees), of newstest2013 (French, Spanish) and
of the references of WMT17 English to Russian, each perturbed and scored against itself. Drops are shares of the
metric's range, the mean score of the clean texts minus that of unrelated ones; in brackets the 95 % bootstrap
interval and n, the texts that changed. Alone in brackets: fewer than {LEAST} texts changed. Bold: the drop is above
that of the control, `no-punctuation`, on the same texts (one-sided, Holm over all tests of a language, .05).
Strength .1: a tenth of the words.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    tables(arguments.data, arguments.work)
    pairs = {lang: run("pairs", lang, arguments.work) for lang in ("de", "zh")}
    perturbed = {lang: run("perturb", lang, arguments.work) for lang in LANGUAGES}
    draw(perturbed, arguments.output.with_suffix(".png"))
    with atomic_text(arguments.output) as stream:
        stream.write(page(pairs, perturbed, published(arguments.data), arguments.output.with_suffix(".png").name))


if __name__ == "__main__":
    main()
