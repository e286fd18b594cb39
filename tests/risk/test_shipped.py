"""The explainers that the registry ships: their files are whole and fit, and they find what people marked."""

from __future__ import annotations

import csv
import re
from itertools import islice
from pathlib import Path

import pytest

import bsx
from bsx.errors import RegistryError
from bsx.risk.explainer import TrainedNetwork
from bsx.support.provenance import file_digest
from bsx.support.tensors import load_arrays


def test_weights_are_those_that_the_entry_names() -> None:
    catalog = bsx.load_registry()
    entry = catalog.explainer("me5-small-q4")
    assert entry is not None
    assert entry.trained is not None
    file = catalog.origins["explainer", "me5-small-q4"].with_name(entry.trained.weights)
    assert file_digest(file) == entry.trained.sha256
    tensors, _ = load_arrays(file)
    for side in ("candidate", "source"):
        own = {n.removeprefix(f"{side}.0."): t for n, t in tensors.items() if n.startswith(f"{side}.0.")}
        inputs = catalog.models["me5-small-q4"].dimensions or 0
        assert TrainedNetwork(own, side).inputs == inputs + 18 * len(entry.trained.layers) + 10 + 3
    assert catalog.explainer("bert-base-uncased") is None


def test_no_default_is_below_the_baselines_on_pairs_left_out() -> None:
    entry = bsx.load_registry().explainer("me5-small-q4")
    assert entry is not None
    assert entry.trained is not None
    pairs = {one.pair for kind in entry.trained.kinds for one in kind.pairs}
    assert len(pairs) == 13
    for kind in entry.trained.kinds:
        for one in kind.pairs:
            best = max(one.match, one.length, one.frequency)
            own = one.trained if kind.methods[one.side] == "trained" else one.ranks
            assert own > best - 0.025, (
                one.pair,
                one.dataset,
            )  # less than the intervals of benchmarks/agreement are wide
    assert entry.reference is not None
    assert entry.reference.candidate is None  # no pair has an error of at most .08 beside references


@pytest.mark.slow
def test_a_pair_that_is_named_goes_by_what_was_measured_on_it() -> None:
    candidates, sources = ["Red houses", "Boy"], ["Las casas rojas.", "El niño."]  # no function word in them
    unsaid = bsx.explain(candidates, sources=sources, model="me5-small-q4")
    said = bsx.explain(candidates, sources=sources, model="me5-small-q4", lang="es-en")
    assert (unsaid.method["candidate"], said.method["candidate"]) == ("ranks", "trained")
    entry = bsx.load_registry().explainer("me5-small-q4")
    assert entry is not None
    assert entry.trained is not None
    kind = next(kind for kind in entry.trained.kinds if (kind.source, kind.candidate) == ("en", "Latn"))
    worse = [one.model_copy(update={"trained": one.ranks - 0.1}) for one in kind.pairs if one.pair == "en-yo"]
    other = kind.model_copy(update={"pairs": [*worse, *(one for one in kind.pairs if one.pair != "en-yo")]})
    methods = [other.method("candidate", pair) for pair in ("en-yo", "en-de", "en-es", None)]
    assert methods == ["ranks", "trained", "trained", "trained"]
    assert other.method("source", "en-yo") == kind.methods["source"]


def test_an_entry_for_another_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "explainers").mkdir()
    (tmp_path / "explainers" / "minilm.yaml").write_text("model: minilm\nreference: {layer: 7}\n", encoding="utf-8")
    (tmp_path / "explainers" / "me5-small-q4.yaml").write_text("model: minilm\n", encoding="utf-8")
    catalog = bsx.load_registry(tmp_path)
    with pytest.raises(RegistryError, match="layer 7: minilm has 6 layers"):
        catalog.explainer("minilm")
    with pytest.raises(RegistryError, match="must be called after a model"):
        catalog.explainer("me5-small-q4")
    assert len(catalog.check()) >= 2


@pytest.mark.slow
def test_trained_risks_find_marked_words_of_real_translations(shared: Path) -> None:
    with (shared / "data/eval4nlp/ro-en-dev.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(islice(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), 300))
    marks = [[int(mark) for mark in row["target_tags"].split()] for row in rows]
    found = bsx.explain(
        [row["candidate"] for row in rows],
        sources=[row["source"] for row in rows],
        model="me5-small-q4",
        marks={"candidate": marks},
    )
    assert found.method == {"candidate": "trained", "source": "trained"}
    assert found.calibrated == {"candidate": False, "source": False}
    assert found.marks["candidate"].auc.estimate > 0.75
    assert found.baselines["candidate"]["match"].low > 0


def test_the_page_claims_what_pairs_left_out_show() -> None:
    entry = bsx.load_registry().explainer("me5-small-q4")
    assert entry is not None
    assert entry.trained is not None
    found = [one for kind in entry.trained.kinds for one in kind.pairs]
    gains = [round(one.trained - max(one.match, one.length, one.frequency), 4) for one in found]
    ranked = [round(one.ranks - max(one.match, one.length, one.frequency), 4) for one in found]
    page = (Path(__file__).parent.parent.parent / "docs/explain/words.md").read_text(encoding="utf-8")
    said = " ".join(page.split())
    lines = (Path(__file__).parent.parent.parent / "benchmarks/agreement/explanations.md").read_text(encoding="utf-8")
    lows = [float(low) for low in re.findall(r"[+-][.\d]+ \[([+-][.\d]+), [+-][.\d]+\]", lines)]
    assert len(lows) == len(found)
    for claim in (
        f"{len({one.pair for one in found})} pairs",
        f"from {min(gains):+.3f} to {max(gains):+.3f}",
        f"above 0 in {sum(low > 0 for low in lows)} of {len(found)}",
        f"at least .02 in {sum(gain >= 0.02 for gain in gains)} of {len(found)}",
        f"from {min(ranked):+.3f} to {max(ranked):+.3f}",
        f"wrong by {min(one.error for one in found):.2f} to {max(one.error for one in found):.2f}",
    ):
        assert claim in said, claim
