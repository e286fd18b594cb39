"""Published tables from the publishers' own files: small ones in the same layout, with figures computed another way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from benchmarks.published import demetr, effeval, mteb, wmt22_auto
from bsx.errors import DataUnavailableError, InputError
from tests.published.test_harness import one, score, stated


def write(file: Path, *lines: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """NL2G/effeval with three segments a pair."""
    publisher = {"wmt15": effeval.PublisherFacts(folder="wmt15-newstest", pairs=["de-en", "cs-en"])}
    stated(monkeypatch, effeval, "effeval", exceptions=[], rows={"wmt15": 6}, publisher=publisher)
    human = {"de-en": (0.1, 0.5, -0.2), "cs-en": (0.9, -1.0, 0.3)}
    for pair, values in human.items():
        start = tmp_path / "effeval/datasets/wmt15-newstest/DAseg.newstest2015"
        write(start.with_name(f"{start.name}.human.{pair}"), *values)
        for kind in ("source", "reference", "mt-system"):
            write(start.with_name(f"{start.name}.{kind}.{pair}"), *(f"{kind} {pair[:2] * i} {i}" for i in range(3)))
    return tmp_path / "effeval"


ORDER = (0.1, 0.5, -0.2, 0.9, -1.0, 0.3)
SCORES = (0.3, 0.4, 0.1, 0.8, 0.2, 0.5)


def results(checkout: Path, name: str, runs: Mapping[str, Sequence[object]], printed: Sequence[float]) -> Path:
    folder = checkout / "results/efficient-transformer-metrics/env3-cpu" / name.partition("-")[0]
    file = folder / f"{name}-wmt15-env3-cpu.txt"
    lines = [("duration (sec): 3.5", "peak memory-usage: 0", f"pearson correlation: {r!r}") for r in printed]
    write(file, *(line for run in lines for line in run))
    for time, scores in runs.items():
        write(folder / f"scores/{file.stem}-{time}.txt", *scores)
    return file


def test_effeval(checkout: Path) -> None:
    r = float(np.corrcoef(ORDER, SCORES)[0, 1])
    # Sorted by name, the run of 999.5 would be the last one; the run over two segments is no run over the set.
    runs = {"999.5": SCORES[::-1], "1001.25": SCORES, "1002.0": SCORES[:2]}
    results(checkout, "moverscore-wmd-bert", runs, [0.5, r])
    results(checkout, "bertscore-minilm6-384", {"1.5": SCORES}, [0.25])
    results(checkout, "bertscore-minilm6", {}, [0.25])
    for folder in (checkout, checkout.parent):
        table = one("effeval", folder)
        found = {tuple(cell.at.values()): (cell.ours, cell.verdict) for cell in table.figures}
        assert found == {
            ("wmt15", "bertscore", "minilm6-384", "env3-cpu"): (pytest.approx(r, abs=1e-12), "off"),
            ("wmt15", "moverscore", "bert", "env3-cpu"): (pytest.approx(r, abs=1e-12), "met"),
        }
        assert table.left_out[-1].reason == "1 of the 3 files of results have no file of 6 scores"


def test_broken_effeval(checkout: Path) -> None:
    file = results(checkout, "bertscore-bert", {"1": [*SCORES[:5], "high"]}, [0.25])
    with pytest.raises(InputError, match=r"bertscore-bert-wmt15-env3-cpu-1.txt: line 6"):
        one("effeval", checkout)
    results(checkout, "bertscore-bert", {"1": SCORES}, [])
    write(file, "duration (sec): 3.5")
    with pytest.raises(InputError, match=r"bertscore-bert-wmt15-env3-cpu.txt: has no line 'pearson correlation: …'"):
        one("effeval", checkout)
    human = checkout / "datasets/wmt15-newstest"
    for kind in ("human", "source", "reference", "mt-system"):
        write(human / f"DAseg.newstest2015.{kind}.cs-en", 1.0, 2.0)
    with pytest.raises(InputError, match="wmt15-newstest: has 5 rows, 6 were published"):
        one("effeval", checkout)


def test_wmt22(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Against sacreBLEU called on the same lines."""
    metrics = pytest.importorskip("sacrebleu.metrics")
    pairs = {name: wmt22_auto.PairFacts(tokenize="13a", segments=2) for name in ("en-hr", "en-de")}
    stated(monkeypatch, wmt22_auto, "wmt22-auto", pairs=pairs, exceptions=[])
    output = ["mačka sjedi ovdje danas .", "pada kiša i vjetar puše"]
    texts = {
        "A": ["mačka sjedi na tepihu .", "pada kiša"],
        "stud": ["mačka sjedi ovdje", "pada kiša i vjetar puše jako"],
    }
    root = tmp_path / "wmt22-auto"
    write(root / "txt/system-outputs/generaltest2022.en-hr.hyp.Online-A.hr", *output)
    for name, lines in texts.items():
        write(root / f"txt/references/generaltest2022.en-hr.ref.{name}.hr", *lines)
    several = list(texts.values())
    values = {
        "bleu-all": metrics.BLEU().corpus_score(output, several).score,
        "bleu-stud": metrics.BLEU().corpus_score(output, several[1:]).score,
        "chrf-all": metrics.CHRF().corpus_score(output, several[::-1]).score,
        "COMET-A": 0.5,
    }
    head = "pair\tsystem\tid\tis_constrained\tmetric\tscore"
    rows = [f"en-hr\tOnline-A\t805\tFALSE\t{name}\t{value!r}" for name, value in values.items()]
    write(root / "scores/automatic-scores.tsv", head, *rows)
    for folder in (tmp_path, root):
        table = one("wmt22-auto", folder)
        assert [(cell.at["metric"], cell.verdict) for cell in table.figures] == [(name, "met") for name in values][:3]
        assert not any(left.what == "en-de" for left in table.left_out)  # of which nothing is published there
    write(root / "scores/automatic-scores.tsv", head, *rows, "en-de\tOnline-A\t805\tFALSE\tbleu-A\t20.0")
    left = one("wmt22-auto", root).left_out[-1]
    assert (left.what, left.reason) == ("en-de", f"{root}: has no system-outputs/generaltest2022.en-de.hyp.*")
    write(root / "txt/references/generaltest2022.en-hr.ref.A.hr", "one line")
    with pytest.raises(InputError, match=r"en-hr.ref.A.hr: has 1 segments, 2 were published"):
        one("wmt22-auto", root)


def test_mteb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = mteb.TaskFacts(
        task="STS", split="dev", kind="stsb", file="stsb/{}.tsv", languages=["en", "de"], figures=["cosine_pearson"]
    )
    stated(monkeypatch, mteb, "mteb", models={"org/model": "chrf"}, tasks=[task], exceptions=[])
    write(tmp_path / "stsb/en.tsv", "sentence1\tsentence2\tscore", "a cat\ta cat\t5", "a cat\ta dog\t2", "a\tzebra\t0")
    r = float(np.corrcoef(score("chrf", ["a cat", "a cat", "a"], ["a cat", "a dog", "zebra"]).values, [5, 2, 0])[0, 1])
    folder = tmp_path / "mteb/results/org__model"
    content = {"scores": {"dev": [{"hf_subset": "en", "cosine_pearson": r, "dot_pearson": 0.5}], "test": []}}
    write(folder / f"{'0a' * 20}/STS.json", json.dumps(content))
    write(folder / "no_revision_available/STS.json", "{}")
    table = one("mteb", tmp_path)
    assert [(cell.at["language"], cell.verdict) for cell in table.figures] == [("en", "met")]
    assert table.figures[0].ours == pytest.approx(r)
    write(folder / f"{'0a' * 20}/STS.json", json.dumps({"scores": {"test": []}}))
    with pytest.raises(InputError, match=r"STS.json: is not a result of STS on the split dev"):
        one("mteb", tmp_path)
    (folder / f"{'0a' * 20}/STS.json").unlink()
    with pytest.raises(DataUnavailableError, match=r"needs one org__model/\*/STS.json of a revision, has 0"):
        one("mteb", tmp_path)


def test_demetr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every fifth of the rightly perturbed items of each file: of two files, the first, the seventh and the first."""
    fifth = {"critical": 2 / 3}
    stated(monkeypatch, demetr, "demetr", operations={"negation": 7}, whole=8, tenth={}, fifth=fifth)
    texts = {"src_sent": "eine Katze", "eng_sent": "a cat sat", "mt_sent": "a cat sat", "lang_tag": "german"}
    for name, count in (("critical_id8_negation", 8), ("critical_id7_antonym", 1)):
        items = [
            {**texts, "id": i, "pert_sent": "a dog", "severity": "critical", "pert_name": name, "pert_check": i != 2}
            for i in range(1, count + 1)
        ]
        if name.endswith("negation"):
            items[6]["pert_sent"] = "a cat sat"  # a tie, which is wrong
        file = tmp_path / f"demetr/dataset/{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(items), encoding="utf-8")
    table = one("demetr", tmp_path)
    assert [cell.verdict for cell in table.figures] == ["met"] * 3
    assert table.figures[-1].at["figure"] == "chrF2, every fifth row of an operation: share right"
