"""Costly steps look for what they need before they begin; the command line and Python answer the same."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bsx
from bsx import get_metric
from bsx.analysis import compute_factors
from bsx.analysis.factors import parsers
from bsx.data.output import check_picture
from bsx.data.sources import IN_MEMORY
from bsx.errors import BsxError, InputError, MissingExtraError, ModelUnavailableError
from bsx.support.untyped import to_json
from tests.conftest import Cli
from tests.helpers.tables import read_rows, write_rows

TEXTS = ["The cat sat."], ["A cat sat down."]


@pytest.fixture
def never_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("parsed before the door was checked")

    monkeypatch.setattr("bsx.analysis.factors.syntax.parse_texts", refuse)
    monkeypatch.setattr("bsx.analysis.factors.morphology.parse_texts", refuse)
    monkeypatch.setattr(parsers.StanzaParser, "check", lambda self: None)


@pytest.mark.usefixtures("never_parses")
def test_what_a_later_factor_lacks_is_said_before_an_earlier_one_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailableError, match="needs word vectors"):
        compute_factors("syn,mor", *TEXTS)
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[morphology\]"):
        compute_factors("syn,mor", *TEXTS, train_vectors=True)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[morphology\]"):
        compute_factors("syn,mor", *TEXTS, vectors=Path("some.bin"))
    with pytest.raises(InputError, match=r"none\.vec"):
        compute_factors("syn,mor", *TEXTS, vectors=Path("none.vec"))


def test_a_parser_is_missed_before_lex_is_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "stanza", None)

    def refuse(*_: object) -> None:
        raise AssertionError("counted before the door was checked")

    monkeypatch.setattr("bsx.analysis.factors.lexical.Lexical.compute", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[syntax\]"):
        compute_factors("lex,syn", *TEXTS, parser_dir=tmp_path)


@pytest.mark.parametrize(
    ("metric", "package"),
    [
        ("bleu:tokenize=ja-mecab", "MeCab"),
        ("bleu:tokenize=ko-mecab", "mecab_ko"),
        ("moverscore:model=minilm", "ot"),
        ("moverscore:model=minilm", "threadpoolctl"),
    ],
)
def test_what_a_metric_needs_is_missed_when_it_is_made(
    metric: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_languages = ("sacrebleu.tokenizers.tokenizer_ja", "sacrebleu.tokenizers.tokenizer_ko")
    for name in [one for one in sys.modules if one.partition(".")[0] == package or one.startswith(of_languages)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BsxError, match=r"pip install .*\["):
        get_metric(metric)


def test_wordnet_is_missed_without_nltk_being_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    if any(Path(place, "nltk_data").exists() for place in ("/usr/share", "/usr/local/share", "/usr/lib")):
        pytest.skip("this machine has data of NLTK for all users")
    with pytest.raises(InputError, match=r"nltk\.downloader wordnet"):
        get_metric("meteor")
    assert "nltk" not in sys.modules
    (tmp_path / "nltk" / "corpora" / "wordnet").mkdir(parents=True)
    assert get_metric("meteor").name == "meteor"


def test_what_draws_is_missed_before_anything_is_computed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[report\]"):
        check_picture(tmp_path / "some.svg")


EXAMPLES = Path(str(files("bsx.examples")))
SYSTEMS = ("atlas", "brook", "cinder")
WIDE = {"candidate": SYSTEMS, "reference": ["reference"], "segment": "id"}
GRADES = [f"{system}_grade" for system in SYSTEMS]
CHRF: dict[str, object] = {"metrics": ["chrf"], "lang": "en"}


@dataclass(frozen=True)
class Door:
    """A command that reads a table.

    Attributes:
        command: its words.
        function: of `bsx`.
        table: file among the examples, or ``long.tsv``: the systems of one below the other.
        given: settings.
        quick: resampled as often as it must be.
        output: its setting of the file or folder it writes, if it must.
    """

    command: str
    function: str
    table: str
    given: Mapping[str, object] = field(default_factory=dict)
    quick: bool = True
    output: str | None = None


DOORS = [
    Door("meta", "meta", "long.tsv", CHRF),
    Door("meta", "meta", "long.tsv", {"columns": ["words"], "group": "domain"}),
    Door("meta", "meta", "long.tsv", {"columns": ["words"], "level": "sys"}),
    Door("meta", "meta", "en-systems.tsv", {**CHRF, **WIDE, "human": GRADES}),
    Door("compare", "compare", "long.tsv", CHRF),
    Door("compare", "compare", "long.tsv", {"columns": ["words"], "all_pairs": True}),
    Door("compare", "compare", "en-systems.tsv", {**CHRF, **WIDE}),
    Door("disentangle", "disentangle", "long.tsv", {**CHRF, "factor_columns": ["words"]}),
    Door("disentangle", "disentangle", "long.tsv", {"columns": ["human"], "factor_columns": ["words"]}),
    Door("ensemble", "ensemble", "long.tsv", {**CHRF, "columns": ["words"]}),
    Door("evaluate", "evaluate", "long.tsv", CHRF, quick=False, output="output"),
    Door("evaluate", "evaluate", "en-systems.tsv", {**CHRF, **WIDE, "human": GRADES}, quick=False, output="output"),
    Door("plan compare", "plan_compare", "long.tsv", {"columns": ["words"], "systems": SYSTEMS[:2], "effect": 1}),
    Door("plan meta", "plan_meta", "long.tsv", {"columns": ["words", "marks"], "effect": 0.1}),
    Door("score", "score_files", "long.tsv", CHRF, quick=False),
    Door("score", "score_files", "en-systems.tsv", {**CHRF, **WIDE}, quick=False),
    Door(
        "factors",
        "factors",
        "long.tsv",
        {"factors": ["lex"], "candidate": "candidate", "reference": "reference", "lang": "en"},
        quick=False,
        output="output",
    ),
    Door("adversarial pairs", "detect_paraphrases", "pairs.tsv", CHRF),
    Door("adversarial triples", "prefer_paraphrases", "en-triples.tsv", CHRF),
    Door("adversarial challenge", "challenge_metrics", "en-challenge.tsv", CHRF, quick=False),
    Door("adversarial perturb", "perturb", "long.tsv", {**CHRF, "perturbations": ["typos"]}),
    Door("intervene", "intervene", "en-triples.tsv", {**CHRF, "reference": "anchor", "factors": ["lex"]}, quick=False),
]
"""Commands, extended by a line each; those of tables that must be files say so."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, and tables made of them: systems below one another, and labelled pairs."""
    folder = tmp_path_factory.mktemp("doors")
    for name in ("en-systems.tsv", "en-triples.tsv", "en-challenge.tsv"):
        write_rows(folder / name, read_rows(EXAMPLES / name)[:60])
    rows = read_rows(folder / "en-systems.tsv")
    long = [
        {
            **{name: row[name] for name in ("id", "domain", "reference")},
            **{"system": system, "candidate": row[system], "human": row[f"{system}_grade"]},
            **{"words": len(row[system].split()), "marks": row[system].count(",") + len(row["reference"]) / 9},
        }
        for row in rows
        for system in SYSTEMS
    ]
    write_rows(folder / "long.tsv", long)
    triples = read_rows(folder / "en-triples.tsv")
    labelled = [(row, name) for row in triples for name in ("paraphrase", "nonparaphrase")]
    pairs = [
        {"reference": r["anchor"], "candidate": r[kind], "label": int(kind == "paraphrase")} for r, kind in labelled
    ]
    write_rows(folder / "pairs.tsv", pairs)
    return folder


def of_the_run(content: Any) -> Any:
    """Leave out what says how a result came about: files, commands, dates."""
    if isinstance(content, dict):
        return {key: of_the_run(value) for key, value in content.items() if key not in ("provenance", "command")}
    return [of_the_run(value) for value in content] if isinstance(content, list) else content


@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door.command} {door.table} {' '.join(door.given)}")
def test_every_door_leads_to_the_same_figures(door: Door, tables: Path, tmp_path: Path, cli: Cli) -> None:
    file, frame = tables / door.table, pd.read_csv(tables / door.table, sep="\t", quoting=3)
    given = {**door.given, **({"resamples": 20} if door.quick else {})}
    options: list[str] = []
    for name, value in given.items():
        spelled = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        options += [f"--{name.replace('_', '-')}", *([] if value is True else [spelled])]

    def written(name: str) -> dict[str, object]:
        return {} if door.output is None else {door.output: tmp_path / name / "out.tsv"}

    for name in ("c", "file", "frame", "mapping"):
        (tmp_path / name).mkdir()
    into = [text for name, path in written("c").items() for text in (f"--{name}", path)]
    told = cli(*door.command.split(), file, *options, *into, "--format", "json")
    assert told.status == 0, told.err
    expected = of_the_run(json.loads(told.out))
    function = getattr(bsx, door.function)
    mapping = {name: frame[name].tolist() for name in frame}
    for name, table in {"file": str(file), "frame": frame, "mapping": mapping}.items():
        result = function(table=table, **given, **written(name))
        content = result.to_dict() if hasattr(result, "to_dict") else result.summary
        found = to_json(content).replace(IN_MEMORY, Path(file).name)  # as notes call it
        assert of_the_run(json.loads(found)) == expected, name
