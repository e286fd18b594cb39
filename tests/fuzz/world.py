"""The inputs that fuzz cases start from, and for each command one call that is right."""

from __future__ import annotations

import random
from importlib.resources import files
from pathlib import Path

from tests.helpers import tiny
from tests.helpers.tables import write_lines, write_rows

_TEXT = "the a old young man woman cat dog river bank house bridge rain train station walked slowly quickly"
_WORDS = _TEXT.split()

# command -> the arguments of a call that works, quickly; {out} is a folder that is empty before each case.
RIGHT: dict[str, str] = {
    "score": "-c cand.txt -r ref.txt -m bert --layer 1 -o {out}/s.tsv",
    "score zoo": "-c cand.txt -r ref.txt -s src.txt --metrics chrf,bleu -o {out}/s.tsv",
    "score table": "scores.tsv --metrics chrf --format json",
    "meta": "scores.tsv --human h --columns a,b --group lp --resamples 20 --format json -o {out}/m.json",
    "meta darr": "scores.tsv --human h --columns a,b --system sys --segment seg --level darr --test none "
    "--detail threshold=1",
    "meta hybrid": "systems.tsv --human h --columns a,b --system sys --segment seg --level hybrid "
    "--detail hybrids=20,sample=5 --resamples 20 --test none",
    "meta protocol": "wmt --protocol wmt24 --detail language_pairs=en-de --resamples 20 --format json -o {out}/p.json",
    "compare": "-c cand.txt -c other.txt -r ref.txt --metrics chrf --resamples 20 --format json",
    "match": "a\\ cat the\\ dog -m bert --layer 1 --format json",
    "probe": "first.te.txt -m bert --layers 1 --repeats 1 --resamples 20 --detail control_task=false --format json",
    "factors": "scores.tsv -o {out}/f.tsv --factors lex --reference reference --candidate candidate --format json",
    "disentangle": "scores.tsv --columns a,b --factor-columns x1,x2 --format json -o {out}/d.json",
    "ensemble": "scores.tsv --columns a,b --human h --segment seg --how ridge --folds 3 --resamples 20 --format json",
    "plan meta": "systems.tsv --human h --columns a,b --segment seg --effect 0.2 --resamples 20 --format json",
    "plan compare": "--effect 0.2 --sd 1 --icc 0.1 --document-size 8",
    "report": "scores.tsv -o {out}/r.html",
    "convert": "scores.tsv -o {out}/c.jsonl",
    "train": "esim train.tsv --valid valid.tsv -o {out}/t -m bert --network hidden=4,epochs=1",
    "train curve": "esim train.tsv --valid valid.tsv --test-data valid.tsv --sizes 4 --seeds 1 -o {out}/c -m bert "
    "--network hidden=4,epochs=1",
    "metrics show": "chrf --format json",
    "models show": "minilm --format json",
    "models where": "minilm",
    "registry tune": "minilm judged.tsv -l en --resamples 20",
    "registry baseline": "minilm --corpus ref.txt -l en --pairs 4 --registry {out} --format json",
    "registry validate": "",
    "registry schema": "model",
    "intervene": "texts.tsv --metrics chrf -l en --factors lex --edits-out {out}/i.tsv --format json -o {out}/i.json",
    "adversarial perturb": "texts.tsv --metrics chrf --perturbations shuffle --resamples 20 --format json",
    "adversarial pairs": "pairs.tsv --label label --columns a --resamples 20 --format json",
    "adversarial triples": "triples.tsv --metrics chrf --resamples 20 --format json -o {out}/t.json",
    "adversarial build-triples": "paws.tsv -o {out}/t.tsv --format json",
    "data list": "--format json",
    "data show": "paws-wiki-test --format json",
    "data raters": "ratings.tsv --resamples 20 --format json",
}


def command(name: str) -> list[str]:
    """Return the words of the command that an entry of `RIGHT` calls."""
    words = name.split()
    return words if words[0] in ("train", "metrics", "models", "registry", "adversarial", "data", "plan") else words[:1]


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(4, 9)))


def build(folder: Path) -> Path:
    """Write all inputs into a folder."""
    rng = random.Random(1)  # noqa: S311 - texts, no secrets
    tiny.build("bert", folder / "bert")
    for name in ("cand", "ref", "src", "other"):
        (folder / f"{name}.txt").write_text("".join(f"{_sentence(rng)}\n" for _ in range(12)), encoding="utf-8")
    rows: list[dict[str, object]] = []
    for i in range(40):
        human, x1, x2 = (round(rng.gauss(0, 1), 3) for _ in range(3))
        texts = {name: _sentence(rng) for name in ("reference", "candidate", "source")}
        scores = {"a": round(human + x1, 3), "b": round(human - x2, 3)}
        system = f"s{i % 4}"
        place = {"lp": "de-en" if i % 2 else "fi-en", "sys": system, "seg": i // 4}
        rows.append({**place, **texts, "h": human, **scores, "x1": x1, "x2": x2})
    write_rows(folder / "scores.tsv", rows)
    write_rows(folder / "systems.tsv", [{**row, "lp": "de-en"} for row in rows])
    judged = [{"reference": row["reference"], "candidate": row["candidate"], "human": row["h"]} for row in rows[:16]]
    for name in ("judged", "train", "valid"):
        write_rows(folder / f"{name}.tsv", judged)
    write_rows(folder / "texts.tsv", [{"reference": row["reference"]} for row in rows[:12]])
    pairs = [
        {"sentence1": _sentence(rng), "sentence2": _sentence(rng), "label": i % 2, "a": round(rng.random() + i % 2, 3)}
        for i in range(20)
    ]
    write_rows(folder / "pairs.tsv", pairs)
    pawed = [("sentence1", "sentence2", "label"), ("a b c d", "d c b a", 0), ("a q r s", "a b c d", 1)]
    write_lines(folder / "paws.tsv", pawed)
    ratings = [
        {"judge": f"j{j}", "system": f"s{i % 2}", "segment": i // 2, "human": rng.randint(1, 9)}
        for i in range(12)
        for j in range(3)
    ]
    write_rows(folder / "ratings.tsv", ratings)
    (folder / "triples.tsv").write_bytes((files("bsx.examples") / "en-triples.tsv").read_bytes())
    _wmt(folder / "wmt", rng)
    lines = [(f"{'the old' if i % 2 else 'one young'} {_sentence(rng)}", f"L{i % 2}") for i in range(40)]
    write_lines(folder / "first.te.txt", lines)
    return folder


def _wmt(folder: Path, rng: random.Random) -> None:
    """Write a test set as mt-metrics-eval does, of one language pair, as if it were WMT24's."""
    texts = {"sources/en-de.txt": "s", "references/en-de.refB.txt": "r", "documents/en-de.docs": "news d"}
    texts |= {f"system-outputs/en-de/{system}.txt": system for system in "abc"}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_lines(folder / name, [[text]] * 8)
    scores = {"human-scores/en-de.mqm": 1, "metric-scores/en-de/BLEU-refB": 2, "metric-scores/en-de/XCOMET-QE-src": 3}
    for name, spread in scores.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        for level, size in (("seg", 8), ("sys", 1)):
            rows = [(system, round(rng.gauss(i, spread), 3)) for i, system in enumerate("abc") for _ in range(size)]
            write_lines(folder / f"{name}.{level}.score", rows)
