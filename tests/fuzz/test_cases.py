"""Calls that contradict themselves, and tables of numbers that mean nothing: each is one line that says what to do."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.test_corpus import digests
from tests.helpers.tables import write_rows

TABLES: dict[str, list[Mapping[str, object]]] = {
    "huge.tsv": [{"h": i * 1e300, "a": i * 1e307, "b": (-1) ** i * 1e308} for i in range(12)],
    "tiny.tsv": [{"h": 1 + i * 1e-16, "a": 1 + i * 1e-15, "b": i} for i in range(12)],
    "average.tsv": [{"g": "average" if i < 6 else "all", "h": i, "a": i * i % 5} for i in range(12)],
    "constant.tsv": [{"h": 1, "a": i, "x1": 1, "x2": i % 4} for i in range(12)],
    "mirrored.tsv": [{"h": i, "a": 2 * i, "b": -i} for i in range(12)],
    "twice.tsv": [{"s": "s1", "seg": 1, "h": i, "a": i * 2 % 5} for i in range(12)],
    "linear.tsv": [{"a": i % 7 + i / 10, "x1": i % 5, "x2": i % 5 * 2} for i in range(30)],
    "shared.tsv": [{"a": i % 7, "b": i % 3, "h": i, "f": i % 3, "reference": f"r{i // 2}"} for i in range(30)],
    "three.tsv": [{"sentence1": f"a {i}", "sentence2": "b", "label": i % 3, "a": i} for i in range(12)],
    "nameless.tsv": [{"system": "x" if i % 2 else "", "candidate": "a b", "reference": "a"} for i in range(6)],
    "loose.tsv": [{"label": i, "sentence1": "a b", "sentence2": "b a"} for i in (1, 1)],
    "same.tsv": [{"candidate": "a b c", "reference": "a b c", "human": i} for i in range(12)],
}
MENDED = {
    "score -c cand.txt -r ref.txt --metrics ''": "metrics is given without any name",
    "score -c cand.txt -r ref.txt --metrics ,": "metrics is given without any name",
    "meta huge.tsv --human h --columns a,b": "is '1e+308', too large to compute with: scale the column",
    "meta tiny.tsv --human h --columns a,b": "a rounding error of numbers near 1: nothing can be ranked",
    "meta average.tsv --human h --columns a --group g": "a group is called 'average', as the mean of all groups is",
    "meta scores.tsv --human h --columns a --lower c": "lower: 'c' is none of",
    "meta scores.tsv --human h --columns ''": "columns is given without any name",
    "factors scores.tsv -o {out}/f.tsv --factors lex --reference reference --candidate reference": "both name the",
    "report scores.tsv ./scores.tsv -o {out}/r.html": "scores.tsv: is named twice",
    "ensemble shared.tsv --columns a,b --human h --resamples 20 --save {out}/e.yaml": "lists all of them; say which",
}
KNOWN = {
    "score -c cand.txt -r ref.txt --metrics chrf -o ./cand.txt": "would overwrite it",
    "score -c cand.txt -r ref.txt --metrics chrf -o {out}/x.tsv.gz": "cannot tell the format",
    "score -c cand.txt -r ref.txt --metrics chrf:word_order=2,word_order=3": "word_order is given twice",
    "score -c cand.txt -r ref.txt --metrics chrf:word_order=1e9": "must be a whole number",
    "score -c cand.txt -r ref.txt --metrics bleu:tokenize=nosuch": "none of sacreBLEU's tokenizers",
    "score -c cand.txt -r ref.txt --metrics ensemble:/etc/passwd": "/etc/passwd",
    "score -c cand.txt -r ref.txt --metrics trained:bert": "is no folder of a trained metric",
    "score -c cand.txt -r ref.txt --metrics bleurt:model=bert": "is no BLEURT checkpoint",
    "score -c cand.txt -r ref.txt -m bert --all-layers --layer 1": "exclude each other",
    "score -c cand.txt -r ref.txt -m bert --layer 1 --rescale": "add lang",
    "score nameless.tsv --metrics chrf --system system": "line 2, column 'system' is empty",
    "compare -c cand.txt -c cand.txt -r ref.txt --metrics chrf": "two candidate files are called 'cand'",
    "compare -c cand.txt -c other.txt -r ref.txt --metrics chrf --confidence .99999": "takes at least 100000 resamples",
    "meta constant.tsv --human h --columns a": "h has the value 1 in all 12 rows",
    "meta mirrored.tsv --human h --columns a,b": "one metric is the other upside down",
    "meta twice.tsv --human h --columns a --system s --segment seg": "segment '1' more than once",
    "meta scores.tsv --human h --columns a,h": "is named twice",
    "meta same.tsv --metrics chrf --human human": "chrf has the value 100 in all 12 rows",
    "disentangle linear.tsv --columns a --factor-columns x1,x2": "is a linear combination of x1",
    "disentangle constant.tsv --columns a --factor-columns x1,x2": "neither explains nor can be explained",
    "ensemble shared.tsv --columns a,b --human h --how ridge --folds 100 --resamples 20": "100 folds need as many",
    "ensemble shared.tsv --columns a,b --human h --fit shared.tsv --how weights --resamples 20": "leak: ",
    "adversarial pairs three.tsv --label label --columns a": "'2', not 0 or 1",
    "adversarial triples loose.tsv --metrics chrf": "2 paraphrases (label 1) and 0 non-paraphrases",
    "adversarial perturb texts.tsv --metrics chrf --perturbations negation": "say which it is",
    "probe first.te.txt ./first.te.txt -m bert --layers 1": "would both be the task 'first'",
    "train esim judged.tsv --valid judged.tsv -o bert -m bert": "bert: is an input of this run",
}


@pytest.fixture(scope="module")
def tables(world: Path) -> Path:
    """The world, with tables that mean nothing."""
    for name, rows in TABLES.items():
        write_rows(world / name, rows)
    return world


@pytest.mark.parametrize(
    ("call", "said"), [*MENDED.items(), *(pytest.param(*case, marks=pytest.mark.slow) for case in KNOWN.items())]
)
def test_a_contradiction_is_one_line(
    call: str, said: str, tables: Path, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    before = digests(tables)
    done = cli(*shlex.split(call.format(out=tmp_path)))
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert said in done.err
    assert digests(tables) == before
    assert not list(tmp_path.iterdir())
