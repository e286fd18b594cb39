"""Lexical metrics on Flickr8k's expert judgments, by the protocol of Hessel et al. 2021."""

from __future__ import annotations

import numpy as np

from benchmarks.published.table import FactsPart, Figure, PublishedFacts, Work, read_facts, same_count
from bsx.analysis.datasets.flickr8k import load_flickr8k
from bsx.analysis.factors.treebank import treebank_tokens
from bsx.analysis.stats.correlation import kendall

# What the captioning toolkit leaves out of the Penn Treebank's tokens.
_MARKS = {"''", "'", "``", "`", "(", ")", "[", "]", "{", "}", ".", "?", "!", ",", ":", "-", "--", "...", ";", '"'}


class CaptionCell(FactsPart):
    """A figure and the metric that has it."""

    published: float
    metric: str


class Flickr8kFacts(PublishedFacts):
    """``flickr8k.yaml``."""

    judgments: int
    cells: dict[str, CaptionCell]


FACTS = read_facts("flickr8k", Flickr8kFacts)


def recompute(work: Work) -> list[Figure]:
    """Return tau-c of every metric, times 100."""
    file = work.find("captions/flickr8k-expert.tsv", "flickr8k")
    judged = load_flickr8k(file, drop_own=True, per_judge=True)
    same_count(file, len(judged), FACTS.judgments, "judgments")
    human = judged.numbers("human")
    # Each caption stands there once for each judge.
    captions = list(zip(judged.texts("candidate"), map(tuple, judged.references), strict=True))
    places = {caption: place for place, caption in enumerate(dict.fromkeys(captions))}
    rows = np.array([places[caption] for caption in captions])
    candidates = [candidate for candidate, _ in places]
    references = [list(references) for _, references in places]
    words: dict[str, str] = {}
    for text in (text for caption in places for text in (caption[0], *caption[1])):
        if text not in words:
            words[text] = caption_words(text)
    cut = [words[text] for text in candidates], [[words[text] for text in several] for several in references]
    figures = []
    for place, (name, cell) in enumerate(FACTS.cells.items()):
        work.step("flickr8k", place, len(FACTS.cells))
        scored = work.score(cell.metric, *cut)
        tau = kendall(scored.values[rows], human, variant="c", interval="none").estimate
        figures.append(Figure({"metric": name}, cell.published, 100 * tau * (1 if scored.higher_is_better else -1)))
    return figures


def caption_words(text: str) -> str:
    """Return a caption's words in lower case with spaces between, without punctuation.

    >>> caption_words("A man , in a T-shirt.")
    'a man in a t-shirt'
    """
    return " ".join(word for word in treebank_tokens(text.lower()) if word not in _MARKS)
