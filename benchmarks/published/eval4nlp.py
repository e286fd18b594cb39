"""The Eval4NLP 2021 shared task (Fomicheva et al. 2021): how well a baseline's word scores find errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.published.table import Figure, PublishedFacts, Work, read_facts, same_count
from bsx.analysis.datasets.eval4nlp import load_eval4nlp
from bsx.analysis.datasets.pickled import pickled
from bsx.analysis.explanations.marks import sentence_figures
from bsx.data.lines import NamedFile
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.support.checks import Array


class Eval4nlpFacts(PublishedFacts):
    """``eval4nlp.yaml``: figures, and the sentences that have both kinds of tags, by language pair."""

    cells: dict[str, dict[str, float]]
    sentences: dict[str, int]


FACTS = read_facts("eval4nlp", Eval4nlpFacts)


def recompute(work: Work) -> list[Figure]:
    """Return AUC, average precision and recall at top-K of the published explanations."""
    figures = []
    for pair, cells in FACTS.cells.items():
        with work.part(pair):
            file = work.find(
                f"eval4nlp/{pair}-dev.tsv", f"eval4nlp/data/dev/{pair}-dev.tar.gz", f"eval4nlp/data/dev/{pair}-dev"
            )
            sentences = _sentences(file) if file.suffix == ".tsv" else _published(work, file, pair)
            rows = [sentence_figures(scores, tags) for tags, scores in sentences if 0 < tags.sum() < len(tags)]
            if len(rows) != FACTS.sentences[pair]:
                raise InputError(
                    f"{len(rows)} sentences have words of both kinds, {FACTS.sentences[pair]} were published", file=file
                )
            means = np.mean(rows, axis=0)
            figures += [
                Figure({"pair": pair, "figure": name}, published, float(ours))
                for (name, published), ours in zip(cells.items(), means, strict=True)
            ]
    return figures


def _published(work: Work, file: Path, pair: str) -> list[tuple[Array, Array]]:
    """Return tags and scores from the publisher's files: a score is minus the SHAP value of a word."""
    texts = load_eval4nlp(file, lp=pair)
    pickle = NamedFile(work.find(f"eval4nlp/baselines/xmover-shap/{pair}_exps.pkl"))
    try:
        words = [([word for word, _ in words], [-float(value) for _, value in words]) for words in pickled(pickle)]
    except (TypeError, ValueError) as error:
        raise InputError(f"{pickle.name}: is not a list of words with a value each, one a sentence") from error
    same_count(pickle.path, len(words), len(texts), "sentences")
    found = []
    rows = zip(texts.texts("candidate"), texts.texts("target_tags"), words, strict=True)
    for number, (candidate, tags, (own, scores)) in enumerate(rows, start=1):
        if own != candidate.split():
            raise InputError(f"{pickle.name}: sentence {number} has other words than its translation in {file}")
        found.append((np.array([float(tag) for tag in tags.split()]), np.array(scores)))
    return found


def _sentences(file: Path) -> list[tuple[Array, Array]]:
    table = Table(file)
    table.require("target_tags", "xmover_shap")
    found = []
    for row in table.rows():
        try:
            tags, scores = (
                np.array([float(part) for part in row.text(name).split()]) for name in ("target_tags", "xmover_shap")
            )
        except ValueError as error:
            raise InputError(f"{row.where}: tags and scores are numbers between spaces ({error})") from error
        if len(tags) != len(scores) or not set(tags) <= {0.0, 1.0}:
            raise InputError(f"{row.where}: {len(tags)} tags of 0 and 1 are due for {len(scores)} scores")
        found.append((tags, scores))
    return found
