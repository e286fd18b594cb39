"""Paraphrase pairs and triples with the embedded model.

python benchmarks/adversarial_pairs.py DATA CACHE, with DATA holding paws/ and kaster2021/. Runs the commands that it
also prints, and writes benchmarks/agreement/adversarial-pairs.md. Each command's JSON is kept in CACHE and taken from
there by a later run.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bsx.data.output import atomic_text

METRICS = (
    "bertscore:layer=6,bertscore,bertr,moverscore-v2:idf=false,sentence,sbert-wk,chrf,sentbleu,rouge-l,"
    "meteor:synonyms=false,ter"
)
FEW = "bertscore:layer=6,bertscore,sentence,chrf,sentbleu"
COLUMNS = "bert,laser,mUSE,mover,sbert,sbert_wk,labse,mSBERT,bleurt"
PAIRS = {
    "QQP subset and PAWS-QQP": f"paws/qqp-subset.tsv --against paws/paws-qqp-dev.tsv --metrics {METRICS} -m minilm",
    "PAWS-Wiki": f"paws/paws-wiki-test.tsv --metrics {FEW} -m minilm",
    "PAWS-X, German": "paws/pawsx-de-dev.tsv --metrics chrf,sentbleu -l de",
    "PAWS-X, Chinese": "paws/pawsx-zh-dev.tsv --metrics chrf,sentbleu -l zh",
}
TRIPLES = {
    "PAWS triples": f"kaster2021/paws.tsv --columns {COLUMNS} --metrics {METRICS} -m minilm",
    "Freitag triples": f"kaster2021/freitag.tsv --columns {COLUMNS} --metrics {METRICS} -m minilm",
}


def run(kind: str, name: str, arguments: str, data: Path, cache: Path) -> dict[str, Any]:
    """Return a command's JSON, from the cache if it is there; the time it took is added."""
    kept = cache / f"{kind}-{name.replace(' ', '-').replace(',', '')}.json"
    if not kept.exists():
        command = [sys.executable, "-m", "bsx", "adversarial", kind, *shlex.split(arguments), "--format", "json"]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=data, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        content = {**json.loads(done.stdout), "seconds": time.perf_counter() - start}
        with atomic_text(kept) as stream:
            stream.write(json.dumps(content, ensure_ascii=False))
    loaded: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return loaded


def interval(ci: list[float], digits: int = 3) -> str:
    return f"[{ci[0]:.{digits}f}, {ci[1]:.{digits}f}]"


def detection(title: str, content: dict[str, Any]) -> list[str]:
    first = content["results"][0]
    lines = [
        f"## {title}: {first['n']:,} pairs, {100 * first['positives']:.1f} % paraphrases",
        "",
        "| metric | AUC | 95 % interval | average precision | accuracy, best threshold | cross-validated |",
        "|---|---:|---|---:|---:|---:|",
    ]
    for r in content["results"]:
        a = r["accuracy"]
        lines.append(
            f"| `{r['metric']}` | {r['auc']:.3f} | {interval(r['ci'])} | {r['average_precision']['estimate']:.3f} | "
            f"{a['in_sample']:.3f} | {a['cross_validated']:.3f} |"
        )
    return [*lines, "", f"Always giving the more frequent label is right for {first['accuracy']['majority']:.3f}.", ""]


def drops(content: dict[str, Any]) -> list[str]:
    lines = [
        "## From QQP to PAWS-QQP",
        "",
        "| metric | AUC easy | AUC hard | drop | 95 % interval |",
        "|---|---:|---:|---:|---|",
    ]
    lines += [
        f"| `{d['metric']}` | {d['easy']:.3f} | {d['hard']:.3f} | {d['drop']:.3f} | {interval(d['ci'])} |"
        for d in content["drops"]
    ]
    return [*lines, ""]


def preferences(title: str, content: dict[str, Any]) -> list[str]:
    n = content["results"][0]["n"]
    ranges = [s for s in content["splits"] if s["metric"] == content["results"][0]["metric"]]
    heads = [f"{s['low']:.2f} to {s['high']:.2f}" for s in ranges]
    lines = [
        f"## {title}: {n:,}",
        "",
        f"| scores | prefers B | rate | 95 % interval | mean margin | 95 % interval | {' | '.join(heads)} |",
        f"|---|---:|---:|---|---:|---|{'---:|' * len(heads)}",
    ]
    published = COLUMNS.split(",")
    for r in content["results"]:
        name = f"published `{r['metric']}`" if r["metric"] in published else f"**`{r['metric']}`**"
        rates = [f"{s['rate']:.2f}" for s in content["splits"] if s["metric"] == r["metric"]]
        lines.append(
            f"| {name} | {r['first']} | {r['rate']:.3f} | {interval(r['ci'])} | {r['margin']:+.4f} | "
            f"{interval(r['margin_ci'], 4)} | {' | '.join(rates)} |"
        )
    sizes = ", ".join(str(s["n"]) for s in ranges)
    return [*lines, "", f"The last {len(heads)} columns split by overlap(A, C) - overlap(A, B); triples: {sizes}.", ""]


def main(data: Path, cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    parts: list[str] = []
    commands, found = [], []
    for kind, jobs in (("pairs", PAIRS), ("triples", TRIPLES)):
        for name, arguments in jobs.items():
            content = run(kind, name, arguments, data, cache)
            found.append(content)
            commands.append(f"$ bsx adversarial {kind} {arguments}  # {content['seconds']:.0f} s")
            if kind == "triples":
                parts += preferences(name, content)
            elif "against" in content:
                parts += detection("QQP subset", content) + detection("PAWS-QQP", content["against"]) + drops(content)
            else:
                parts += detection(name, content)
    versions = ", ".join(f"{name} {version}" for name, version in found[0]["provenance"]["versions"].items())
    notes = [f"- {note}" for content in found for note in content.get("notes", ()) if "sign is turned" not in note]
    body = [HEAD, "```console", *commands, "```", "", *parts, *(["## Notes of bsx", "", *notes, ""] if notes else [])]
    with atomic_text(Path(__file__).with_name("agreement") / "adversarial-pairs.md") as stream:
        stream.write(
            "\n".join([*body, f"{versions}. Two shared cores, other work running: times are upper bounds."]) + "\n"
        )


HEAD = """# Paraphrase pairs and triples with the embedded model

Metrics as detectors of paraphrases, and how often they prefer a paraphrase to a sentence that shares more words.

- **From QQP to PAWS-QQP** every metric loses between 0.11 and 0.26 of its area. bert-score itself, with the same model
  and layer 6, has an F1 area of .849 on the QQP subset and of .703 on PAWS-QQP, as `bertscore:layer=6` has here.
- **On PAWS-Wiki** sentence BLEU (0.682) tells paraphrases better than the embedding metrics (0.62 to 0.63).
- On PAWS-QQP and PAWS-X a threshold chosen on other pairs is right at most 0.05 more often than always giving the more
  frequent label.
- **PAWS triples.** With layer 6 BERTScore prefers the paraphrase in 44 of 100, the published BERTScore in 45. Only
  ROUGE-L and the published LASER are above a half with their whole interval.
- **Freitag triples.** The published BLEURT prefers the paraphrase in 29 of 100, the others in 21 at most; all metrics
  run here do in 4 at most, and where C overlaps far more with A than B does (last column) in one of 364 at most.

C and B of a triple are candidates, A is the reference; the published scores are those of Kaster, Zhao & Eger 2021. Run
in a folder that holds the data:
"""

if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
