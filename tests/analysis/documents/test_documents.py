"""Result documents: what a command prints is read again as it was; what is not defined is null."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from pydantic import ValidationError

from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument
from bsx.analysis.documents.kinds import KINDS
from bsx.analysis.present.forms import load_presenters
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.support.result import Result
from tests.helpers import report_samples as samples


def test_every_kind_is_read_and_written_again_unchanged(tmp_path: Path) -> None:
    load_presenters()
    seen = set()
    extra = []  # no part of the report whose layout is looked at
    for sample in (
        samples.challenge,
        samples.intervene,
        samples.explain,
        samples.judgments,
    ):
        extra.append(tmp_path / f"{sample.__name__}.json")
        extra[-1].write_text(json.dumps(sample()), encoding="utf-8")
    for file in [*samples.write(tmp_path), *extra]:
        if file.suffix == ".json":
            content = json.loads(file.read_text(encoding="utf-8"))
            kind = content["provenance"]["kind"]
            read = KINDS[kind].model_validate(content) if kind in KINDS else Result.kinds[kind].from_dict(content)
            written = json.loads(json.dumps(read.to_dict(), allow_nan=False))
            assert {name: written[name] for name in content if name != "provenance"} == {
                name: value for name, value in content.items() if name != "provenance"
            }
            seen.add(kind)
    assert seen == {*KINDS, *Result.kinds}


def test_numbers_stay_whole_or_become_null() -> None:
    class Row(DocumentPart):
        weights: dict[str, Number]
        penalty: Number

    row = Row(weights={"a": 1, "b": math.nan}, penalty=math.inf)
    assert row.to_dict()["weights"] == {"a": 1, "b": None}
    assert type(row.to_dict()["weights"]["a"]) is int  # type: ignore[index]
    assert row.penalty is None


def test_only_what_was_set_is_written_and_unknown_keys_are_kept() -> None:
    class Row(DocumentPart):
        a: int = 1
        b: int = 2

    row = Row.model_validate({"b": 3, "further": [math.nan]})
    assert row.to_dict() == {"b": 3, "further": [None]}
    assert row.more == {"further": [math.nan]} or math.isnan(row.more["further"][0])  # type: ignore[index]
    with pytest.raises(ValidationError):
        row.a = 5


def test_settings_notes_and_provenance_come_last() -> None:
    class Document(ResultDocument):
        how: str

    assert list(Document(settings={"how": "z"}, notes=["n"], how="z").to_dict()) == ["how", "settings", "notes"]
    assert list(ResultDocument(notes=["n"]).to_dict()) == ["notes"]


def test_a_row_takes_what_results_hold_under_its_names() -> None:
    class Row(DocumentPart):
        a: str
        n: int = 0
        ci: Interval = None
        p: Number = None

    test = Comparison(0.5, 0.25, 0.25, 0.125, math.nan, 2.0, 0.01, 0.02, 30, "a test")
    assert Row.from_results(test, a="first").to_dict() == {"a": "first", "n": 30, "ci": [0.125, None], "p": 0.01}
    later = Estimate(0.5, 0.0, 1.0, 0.5, 31, "an estimate")
    assert Row.from_results(test, later, a="first", ci=None).to_dict() == {"a": "first", "n": 31, "ci": None, "p": 0.5}
    assert Row.from_results(object(), a="first").to_dict() == {"a": "first"}  # what nobody holds is not set
