"""``bsx disentangle`` on texts and human scores: it makes the factors that it can, and says what the others want."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from bsx import disentangle, select_model
from bsx.analysis import compute_factors
from bsx.errors import InputError, UnknownNameError
from bsx.support import optional
from tests.conftest import Cli
from tests.helpers.tables import write_rows

WORDS = ["the", "old", "man", "read", "a", "long", "book", "about", "ships", "and", "storms", "near", "his"]


def rows(n: int = 40) -> list[dict[str, object]]:
    rng, result = np.random.default_rng(5), list[dict[str, object]]()
    for i in range(n):
        words = [str(word) for word in rng.permutation(WORDS)[:9]]
        kept = [word if rng.random() < 0.7 else "thing" for word in words]
        human = round(sum(a == b for a, b in zip(words, kept, strict=True)) + float(rng.normal()), 3)
        result.append({"candidate": " ".join(kept), "reference": f"{' '.join(words)} {i}", "human": human})
    return result


@pytest.fixture(autouse=True)
def without_parser_and_vectors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path / "none"))
    monkeypatch.setitem(sys.modules, "fasttext", None)


def columns(table: list[dict[str, object]]) -> dict[str, Any]:
    return {name: [row[name] for row in table] for name in table[0]}


def test_sem_and_lex_are_made_and_the_figures_are_those_of_the_columns() -> None:
    table = columns(rows())
    found = disentangle(table, metrics=["chrf"], lang="en")
    lex = compute_factors("lex", table["reference"], table["candidate"])["lex"].values
    by_hand = {**table, "sem": table["human"], "lex": lex.tolist()}
    named = disentangle(by_hand, metrics=["chrf"], lang="en", factor_columns=["sem", "lex"])
    assert (found.factors, list(found.signatures)) == (("sem", "lex"), ["chrf"])
    assert found["chrf"].to_dict() == named["chrf"].to_dict()
    assert (set(found.missing), named.missing) == ({"syn", "mor"}, {})


def test_a_missing_factor_is_a_column_that_says_what_brings_it(tmp_path: Path, cli: Cli) -> None:
    done = cli("disentangle", write_rows(tmp_path / "my.tsv", rows()), "--lang", "en", "--metrics", "chrf")
    assert done.status == 0
    head, first = done.out.split("R² with its")[1].splitlines()[1:3]
    assert head.split() == ["metric", "sem", "lex", "syn", "mor", "R²"]
    assert first.split().count("missing") == 2
    (mor,) = (line for line in done.out.splitlines() if line.startswith("mor is missing: "))
    assert "pip install" in mor
    syn = next(line for line in done.out.splitlines() if line.startswith("syn is missing: "))
    assert "pip install" in syn if not optional.installed("stanza") else "stanza.download" in syn
    assert "parser_dir" not in syn  # a setting of bsx factors


def test_syn_is_made_where_a_parser_is(monkeypatch: pytest.MonkeyPatch, shared: Path) -> None:
    folder = shared / "data/models/stanza_en"
    if not folder.is_dir():
        pytest.skip("shared data has no parser for English here")
    pytest.importorskip("stanza")
    monkeypatch.setattr("stanza.resources.common.DEFAULT_MODEL_DIR", str(folder))  # STANZA_RESOURCES_DIR at its import
    table = columns(rows())
    found = disentangle(table, metrics=["chrf"], lang="en")
    syn = compute_factors("syn", table["reference"], table["candidate"], parser_dir=folder)["syn"].values
    by_hand = disentangle({**table, "syn": syn.tolist()}, metrics=["chrf"], lang="en", factor_columns=["syn", "human"])
    assert found.factors == ("sem", "syn", "lex")
    assert list(found.missing) == ["mor"]
    assert by_hand.n == found.n == np.isfinite(syn).sum() == 40


def test_metrics_are_chosen_as_evaluate_chooses_them() -> None:
    found = disentangle(columns(rows()))
    assert "chrf" in [fit.metric for fit in found.results]
    assert any("no scores are named" in note for note in found.notes)
    assert select_model("en").advice in found.notes  # of which model, and why
    scored = columns([{**row, "m": i} for i, row in enumerate(rows())])
    for found in (disentangle(scored, lang="en", metrics=["chrf"]), disentangle(scored, lang="en", columns=["m"])):
        assert select_model("en").advice not in found.notes  # no model is used


def test_rows_without_a_human_score_are_left_out_and_counted() -> None:
    table = rows()
    table[3]["human"] = table[7]["human"] = ""
    found = disentangle(columns(table), metrics=["chrf"], lang="en")
    assert (found.n, found.omitted) == (38, 0)
    assert "2 of 40 rows have no human score and are left out" in found.notes
    judged = [row for row in rows() if row["human"] not in (rows()[3]["human"], rows()[7]["human"])]
    assert found["chrf"].to_dict() == disentangle(columns(judged), metrics=["chrf"], lang="en")["chrf"].to_dict()
    with pytest.raises(InputError, match="no row has a human score"):
        disentangle(columns([{**row, "human": ""} for row in table]), metrics=["chrf"], lang="en")
    scored = columns([{**row, "m": i if i != 5 else ""} for i, row in enumerate(table)])
    with pytest.raises(InputError, match="column 'm': 1 missing values"):
        disentangle(scored, columns=["m"], lang="en")


def test_what_does_not_go_with_factors_that_are_made() -> None:
    table = columns([{**row, "other": row["reference"]} for row in rows()])
    with pytest.raises(InputError, match="candidate names one column"):
        disentangle(table, metrics=["chrf"], lang="en", candidate=["candidate", "other"])
    with pytest.raises(UnknownNameError, match="no column 'syn'; there are .*sem, lex"):
        disentangle(table, metrics=["chrf"], lang="en", add=["syn"])
    with pytest.raises(InputError, match="lex: name at least two columns"):
        disentangle(table, metrics=["chrf"], lang="en", repeat={"lex": ["human"]})


def test_several_human_scores_are_asked_about_and_their_mean_is_sem() -> None:
    table = columns(rows())
    human = table.pop("human")
    table |= {"da": human, "mqm": [grade + i % 3 for i, grade in enumerate(human)]}
    with pytest.raises(InputError, match=r"repeat says which human scores are sem: sem=da, or several of da,mqm"):
        disentangle(table, metrics=["chrf"], lang="en")
    one = disentangle(table, metrics=["chrf"], lang="en", repeat={"sem": ["da"]})
    usual = disentangle({**table, "human": human}, metrics=["chrf"], lang="en")
    assert one["chrf"].to_dict() == usual["chrf"].to_dict()
    both = disentangle(table, metrics=["chrf"], lang="en", repeat={"sem": ["da", "mqm"]})
    assert both.factors == ("sem", "lex")
    assert both["chrf"].coef["sem"] != one["chrf"].coef["sem"]


@pytest.mark.parametrize(("lacking", "other"), [("human", "reference"), ("reference", "human")])
def test_a_table_without_texts_or_human_scores_is_one_line(tmp_path: Path, cli: Cli, lacking: str, other: str) -> None:
    table = [{name: row[name] for name in ("candidate", other)} for row in rows()]
    done = cli("disentangle", write_rows(tmp_path / "my.tsv", table))
    assert (done.status, "--factor-columns names those of factors" in done.err) == (2, True)
    assert done.err.strip().endswith(f"it lacks a column '{lacking}'; it has candidate, {other}")


def test_factors_are_of_one_language() -> None:
    table = columns([{**row, "lp": "de-en" if i % 2 else "en-de"} for i, row in enumerate(rows(80))])
    with pytest.raises(InputError, match=r"lang takes the rows into one language.*de, en"):
        disentangle(table, metrics=["chrf"])
    assert disentangle(table, metrics=["chrf"], lang="en").n == 40
