"""What each command finds on real data stays what it was, but for where a change of numbers is meant.

``BSX_GOLDEN=write`` writes the figures anew. They are kept without texts, which are not ours.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED, Outcome

HERE = Path(__file__).resolve().parent / "golden"
DATA = SHARED / "data"
# table -> file, and which of its rows: every so many, from the first that the condition holds for.
TABLES: dict[str, tuple[str, Callable[[dict[str, str]], bool], int]] = {
    "hindi": ("indicmt/hi.tsv", lambda row: int(row["id"]) <= 700, 1),
    "bio": ("biomqm/en-fr.tsv", lambda row: row["doc"] in {f"doc{i}" for i in range(2, 14)}, 1),
    "wmt17": ("wmt/daseg-wmt17.tsv", lambda row: row["lp"] in ("cs-en", "de-en", "ru-en"), 6),
    "kaster": ("kaster2021/wmt-de.tsv", lambda _: True, 4),
    "pawsx": ("paws/pawsx-de-dev.tsv", lambda _: True, 6),
    "paws": ("paws/paws-wiki-test.tsv", lambda _: True, 1),
    "anchored": ("kaster2021/paws.tsv", lambda _: True, 1),
    "iu-en": ("wmt/wmt20-iu-en.scores.tsv", lambda _: True, 4),
    "wmt21": ("mqm/newstest2021-en-de.tsv", lambda row: int(row["sid"]) <= 100, 1),
    "demetr": ("demetr/demetr.tsv.gz", lambda row: row["lang"] in ("de", "zh"), 8),
    "ratings": ("esa/en-de.annotations.tsv", lambda row: row["protocol"] in ("ESA-1", "ESA-2"), 1),
}
WMT17 = "wmt17 --candidate candidate --reference reference"
KASTER = "kaster --factor-columns sem,syn,morph,bleu_w --columns xmover,laser,labse"
CASES = {
    "score-lexical": f"score {WMT17} --metrics chrf,bleu,ter,rouge-l",
    "score-bertscore": f"score {WMT17} -m minilm --metrics bertscore",
    "score-idf": f"score {WMT17} -m minilm --metrics bertscore:idf=true,bertscore:layer=3",
    "score-embedding": f"score {WMT17} -m minilm --metrics moverscore,sentence,bertr",
    "meta": "meta hindi --metrics chrf,ter,sentbleu --human mqm",
    "meta-columns": "meta iu-en --columns chrF,TER,YiSi-2 --lower TER --human human_z --nan omit",
    "meta-system": "meta iu-en --columns chrF,YiSi-2 --human human_z --level sys --nan omit",
    "meta-acc-eq": "meta wmt21 --metrics chrf,sentbleu --human mqm --system system --segment sid --statistic acc_eq",
    "meta-darr": "meta iu-en --columns chrF,YiSi-2 --human human_raw --level darr --nan omit",
    "meta-groups": "meta wmt17 --metrics chrf,sentbleu --human human --group lp",
    "meta-documents": "meta bio --metrics chrf,ter --human mqm --document doc",
    "compare": "compare wmt21 --metrics chrf,bleu --system system --segment sid",
    "evaluate": "evaluate wmt21 --metrics chrf,ter --human mqm",
    "disentangle": f"disentangle {KASTER}",
    "disentangle-robust": f"disentangle {KASTER} --detail se=hc3",
    "ensemble": "ensemble kaster --columns xmover,laser,labse --human sem",
    "ensemble-ridge": "ensemble kaster --columns xmover,laser,labse --human sem --how ridge",
    "pairs": "adversarial pairs pawsx --metrics chrf,bertscore -m me5-small-q4",
    "triples": "adversarial triples anchored --columns bert,laser,mUSE,mover",
    "perturb": f"adversarial perturb {WMT17} --metrics chrf,ter --lang en --perturbations negation,typos,drop-words",
    "factors": f"factors {WMT17} --factors lex",
    "intervene": f"intervene {WMT17} --metrics chrf --lang en --human human",
    "probe": "probe subj_number.txt --model minilm --layers 0,3,6 --repeats 2",
    "match": "match 'The cat sat on the mat.' 'A cat was sitting there.' -m minilm",
    "plan-compare": "plan compare wmt21 --columns mqm --systems Facebook-AI,Online-W --segment sid --effect .5",
    "plan-meta": "plan meta iu-en --columns chrF,YiSi-2 --human human_z --effect .05",
    "tune": "registry tune minilm wmt17 -l en --candidate candidate --reference reference --resamples 50",
    "baseline": "registry baseline minilm -l en --corpus corpus.txt --pairs 2000",
    "raters": "data raters ratings --human score --judge annotator --items system,seg --resamples 200",
    "challenge": "adversarial challenge demetr --metrics chrf,sentbleu --phenomenon category",
    "build-triples": "adversarial build-triples paws --detail keep=50",
}
LEFT_OUT = ("notes", "texts", "text", "worst", "examples", "versions", "date", "created", "seconds", "command")
WRITE = os.environ.get("BSX_GOLDEN") == "write"
TOLERANCE = 1e-5  # of an encoder in fp32 on other processors, relative to numbers of one or more


def tables(folder: Path) -> None:
    """Write the tables of the cases."""
    for name, (file, chosen, step) in TABLES.items():
        opened = gzip.open if file.endswith(".gz") else open
        with opened(DATA / file, "rt", encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
            rows = [row for row in reader if chosen(row)][::step]
        lines = ["\t".join(reader.fieldnames or ()), *("\t".join(row.values()) for row in rows)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for file, target in (
        ("probing/subj_number.te.txt", "subj_number"),
        ("mono/newstest2013/newstest2013-ref.en", "corpus"),
    ):
        lines = (DATA / file).read_text(encoding="utf-8").splitlines()[:600]
        (folder / f"{target}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def arguments(case: str, output: Path) -> list[str]:
    """Name the tables by their files, and ask for JSON, or for a table where that is what the command writes."""
    command, *rest = shlex.split(case)
    rest = [f"{word}.tsv" if word in TABLES else word for word in rest]
    if command in ("score", "factors"):
        return [command, *rest, "-o", str(output)]
    return [command, *rest, "--format", "json", *(["-o", str(output)] if "build-triples" in rest else [])]


def figures(printed: str, output: Path) -> Any:
    """Return a result without its texts; of a table, each column of numbers by its sum and first rows."""
    if printed.startswith("{") or not output.exists():
        return without_texts(json.loads(printed))
    with output.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    found: dict[str, Any] = {"rows": len(rows)}
    for name in rows[0]:
        try:
            values = [float(row[name]) for row in rows]
        except ValueError:
            continue
        found[name] = {"sum": math.fsum(values), "first": values[:5]}
    signatures = output.with_name(f"{output.name}.signatures.json")
    if signatures.exists():
        found["signatures"] = json.loads(signatures.read_text(encoding="utf-8"))
    return found


def without_texts(value: Any) -> Any:
    """Leave out what is prose, or somebody's text: what has several words."""
    if isinstance(value, dict):
        return {key: without_texts(one) for key, one in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        return [without_texts(one) for one in value]
    return "…" if isinstance(value, str) and value.count(" ") > 1 else value


def differences(before: Any, now: Any, where: str = "") -> Iterator[str]:
    """Name the places where two results differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            if (key in before) != (key in now):
                yield f"{where}.{key} {'is gone' if key in before else 'is new'}"
            else:
                yield from differences(before[key], now[key], f"{where}.{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{where}[{index}]")
    elif isinstance(before, float) and isinstance(now, int | float):
        if not math.isclose(before, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where}: {before!r} was, {now!r} is"
    elif before != now:
        yield f"{where}: {before!r} was, {now!r} is"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not DATA.is_dir():
        pytest.skip("the evaluation data (../shared/data) is not here")
    target = tmp_path_factory.mktemp("golden")
    tables(target)
    return target


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_figures_are_what_they_were(
    name: str, folder: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    output = folder / f"{name}.out.tsv"
    done = cli(*arguments(CASES[name], output))
    assert done.status == 0, done.err
    stored = HERE / f"{name}.json"
    now = json.loads(json.dumps(figures(done.out, output)))
    if WRITE:
        stored.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert list(differences(json.loads(stored.read_text(encoding="utf-8")), now)) == []


def test_a_planted_fault_is_noticed() -> None:
    before = {"r": 0.5, "rows": [{"n": 3, "p": 1e-3}], "name": "chrf"}
    assert list(differences(before, json.loads(json.dumps(before)))) == []
    for now in (
        {**before, "r": 0.50002},
        {**before, "rows": [{"n": 4, "p": 1e-3}]},
        {**before, "rows": []},
        {**before, "name": "ter"},
        {"r": 0.5, "rows": before["rows"]},
    ):
        assert len(list(differences(before, now))) == 1
