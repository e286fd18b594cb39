"""Tables and settings that contradict one another about documents, clusters, repeats and pilots: one line each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_refused import Cli, one_line
from tests.helpers.tables import write_rows

Row = dict[str, object]


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Row]]:
    """Tables of 16 segments of 3 systems in 4 documents, and in 2; pairs whose documents are labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)

    def rows(documents: int, segments: int = 16) -> list[Row]:
        result: list[Row] = []
        for i in range(segments):
            shared = rng.normal()
            for system in "xyz":
                human, lex = shared + rng.normal(), shared + rng.normal()
                place: Row = {"system": system, "segment": f"s{i}", "document": f"d{i * documents // segments}"}
                scores: Row = {"human": human, "a": human + lex + rng.normal(), "b": human + rng.normal()}
                result.append(place | scores | {"sem": human, "lex": lex, "flat": 1, "lp": "en-de"})
        return result

    own = rows(4)
    write_rows(tmp_path / "four.tsv", own)
    write_rows(tmp_path / "one.tsv", [row | {"document": "only"} for row in own])
    write_rows(tmp_path / "two.tsv", rows(2))
    pilot = [{name: cell for name, cell in row.items() if name != "document"} for row in rows(4, 30)]
    write_rows(tmp_path / "pilot.tsv", pilot)
    labels = [{"label": i % 2, "document": f"L{i % 2}", "a": i % 2 + rng.normal()} for i in range(40)]
    write_rows(
        tmp_path / "labels.tsv", [{"sentence1": f"p{i}", "sentence2": f"q{i}", **row} for i, row in enumerate(labels)]
    )
    return rows


_FIT = "disentangle four.tsv --columns a --factor-columns sem,lex"
_COMBINE = "ensemble four.tsv --columns a,b --human human --resamples 20"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"{_FIT} --document a", "document: the column 'a' is named twice"),
        (f"{_FIT} --document document --cluster segment", "document has no effect with cluster"),
        (f"{_FIT},extra --repeat extra=sem,flat", "repeat: extra: column 'flat' has the value 1 in every row"),
        (f"{_COMBINE} --document document".replace("four", "one"), "has the value 'only' in every row"),
        ("compare four.tsv --columns a --document system", "document: 'system' is the column of systems"),
        ("meta four.tsv --human human --columns a --margin 0.1", "margin has no effect with one metric"),
        ("adversarial pairs labels.tsv --columns a", "at least 2 sets with each label are needed"),
        ("plan meta pilot.tsv --columns a,flat --human human --effect 0.1", "column 'flat': all 90 values are 1"),
    ],
)
@pytest.mark.usefixtures("tables")
def test_one_line(words: str, said: str, cli: Cli) -> None:
    assert said in one_line(cli(*words.split()))
