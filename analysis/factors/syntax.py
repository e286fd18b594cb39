"""SYN: how alike two sentences' dependency trees are in shape."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bsx.analysis.factors.base import Factor, FactorConfig, FactorScores, Resources, SentencePairs, Values
from bsx.analysis.factors.parsers import StanzaParser, parse_texts, parser_of
from bsx.analysis.factors.parses import Parse, match_parses
from bsx.analysis.factors.trees import Tree, largest_match
from bsx.data.lines import NamedFile

_BLANKS = str.maketrans(string.punctuation, " " * len(string.punctuation))
_UNSPACED = {"Hans", "Hant", "Hani", "Jpan", "Khmr", "Laoo", "Mymr", "Thai", "Tibt"}
_AT_ONCE = 2000  # pairs between two reports

Heads = tuple[int, ...]


def tree_edit_distance(heads_a: Sequence[int], heads_b: Sequence[int]) -> int:
    """Return the edit distance of two dependency trees by structure alone.

    Trees are ordered: a word's dependents stand in the order of the words. Deleting or inserting a node costs 1,
    renaming nothing, so labels do not matter; there is no artificial root node. Symmetric; at most |a| + |b| - 2
    between two trees, because roots can always be mapped onto each other.

    Several words with head 0 make a forest, compared as if both sides had one more node above their roots. No words at
    all are as far away as the other side has words.

    The algorithm is Zhang & Shasha's (1989): time O(n m min(depth, leaves)(a) min(depth, leaves)(b)), memory O(n m)
    times the same factor of one side; a row of its table is one array operation. Of the four ways to run it (leftmost
    or rightmost paths, either tree's nodes as rows) the cheapest for the two shapes is taken.

    Args:
        heads_a: head of each word in sentence order as in CoNLL-U, 1-based, 0 for the root (n,).
        heads_b: the same of the other sentence (m,).

    Raises:
        InputError: if a head does not exist or words depend on each other in a circle.

    >>> tree_edit_distance([2, 0, 2], [0, 1, 2])
    2
    """
    a, b = (tuple(int(head) for head in heads) for heads in (heads_a, heads_b))
    left, right = _tree(a), _tree(b)  # the same trees too: a broken one is refused
    words = len(a) + len(b)
    if a == b:
        return 0
    if not a or not b:
        return words
    topped, ways = left.roots != 1 or right.roots != 1, []
    for mirrored in (False, True):
        both = [tree.walk(mirrored=mirrored, topped=topped) for tree in (left, right)]
        ways += [both, both[::-1]]
    # An array operation costs as much as some hundred cells.
    rows, columns = min(ways, key=lambda way: way[0].cost * (way[1].cost + 400))
    return words + 2 * topped - 2 * largest_match(rows, columns)


def syn(heads_a: Sequence[int], heads_b: Sequence[int]) -> float:
    """Return 1 - distance / (number of words of both), from 0 to 1; NaN if both have none.

    Source: Kaster, Zhao & Eger 2021, section 3.

    >>> syn([2, 0, 2], [0, 1, 2])
    0.6666666666666667
    """
    words = len(heads_a) + len(heads_b)
    return 1 - tree_edit_distance(heads_a, heads_b) / words if words else float("nan")


_tree = lru_cache(maxsize=4096)(Tree)


def syn_scores(pairs: Sequence[tuple[Heads, Heads]], report: Callable[[int, int], None] | None = None) -> Values:
    """Return `syn` of many pairs of trees (n,).

    Args:
        pairs: heads of both sides; equal pairs are computed once.
        report: called with pairs done and pairs in all.
    """
    by_pair = dict.fromkeys(pairs, 0.0)
    for done, (a, b) in enumerate(by_pair, start=1):
        by_pair[a, b] = syn(a, b)
        if report is not None and (done % _AT_ONCE == 0 or done == len(by_pair)):
            report(done, len(by_pair))
    return np.array([by_pair[pair] for pair in pairs], dtype=np.float64)


class SyntaxConfig(FactorConfig):
    """Settings of SYN."""

    punctuation: Annotated[
        Literal["blank", "drop", "keep"],
        Field(
            description="blank: ASCII punctuation becomes spaces before parsing, as in the paper; drop: sentences are "
            "parsed as they are, then punctuation is taken out of the trees; keep: it counts like words."
        ),
    ] = "blank"
    failure: Annotated[
        Literal["nan", "zero"], Field(description="Score of a pair of which one side has no parse; the paper has 0.")
    ] = "nan"


class Syntax(Factor[SyntaxConfig]):
    """Similarity of dependency trees. Source: Kaster, Zhao & Eger 2021, section 3.

    The paper's code parsed with the lexicalised PCFG models of CoreNLP; any parser will do here, and its choice matters
    (docs/explain/factors.md has figures).
    """

    Config = SyntaxConfig
    reads = frozenset({"parses1", "parses2", "parser_dir", "download", "cache"})

    def check(self, pairs: SentencePairs, resources: Resources) -> None:
        """Look for the parser of each side without parses; see `Factor.check`."""
        for lang, file in ((pairs.lang1, resources.parses1), (pairs.lang2, resources.parses2)):
            if file is None:
                self._parser(lang, resources).check()

    def compute(self, pairs: SentencePairs, resources: Resources) -> FactorScores:
        """Score pairs; see `Factor.compute`."""
        config = self.config
        details: dict[str, object] = config.model_dump()
        sides: list[list[Heads]] = []
        given = ((pairs.sentence1, pairs.lang1, resources.parses1), (pairs.sentence2, pairs.lang2, resources.parses2))
        for number, (texts, lang, file) in enumerate(given, start=1):
            parses, origin = self._parses(texts, lang, file, f"sentence{number}", resources)
            details[f"parses{number}"] = origin
            sides.append([parse.heads if parse is not None else () for parse in parses])
        both = list(zip(*sides, strict=True))
        whole = [row for row, (a, b) in enumerate(both) if a and b]
        values = np.full(len(both), 0.0 if config.failure == "zero" else np.nan)
        report = (lambda done, total: resources.report("tree distance", done, total)) if resources.progress else None
        values[whole] = syn_scores([both[row] for row in whole], report)
        failures = len(both) - len(whole)
        details |= {"words": [sum(map(len, side)) for side in sides], "failures": failures}
        score = "0" if config.failure == "zero" else "NaN"
        note = f"syn: {failures} of {len(both)} pairs have a side without any parsed word; they score {score}"
        return FactorScores(values, details, (note,) if failures else ())

    def _parses(
        self, texts: Sequence[str], lang: str, file: Path | None, column: str, resources: Resources
    ) -> tuple[list[Parse | None], dict[str, object]]:
        """Return a parse of each text with the nodes that count, and where the parses are from."""
        config = self.config
        blank = config.punctuation == "blank"
        prepared = [" ".join((text.translate(_BLANKS) if blank else text).split()) for text in texts]
        if file is not None:
            result = match_parses(file, texts, column, prepared)
            # A file may hold parses of the sentences as they are; without its punctuation a tree is the best stand-in.
            trees = [parse if config.punctuation == "keep" else parse.without(is_punctuation) for parse in result]
            return list(trees), {"file": file.name, "sha256": NamedFile(file).digest()[:12]}
        parsed, identity = parse_texts(prepared, self._parser(lang, resources), resources, f"parsing {column}")
        if config.punctuation == "drop":
            parsed = [parse and parse.without(is_punctuation) for parse in parsed]
        return parsed, identity

    def _parser(self, lang: str, resources: Resources) -> StanzaParser:
        """Return the parser; where punctuation is blank and words have spaces between, it is given words."""
        from bsx.catalog.catalog import load_registry
        from bsx.catalog.languages import find_language

        blank = self.config.punctuation == "blank"
        spaced = blank and find_language(lang, load_registry()).script not in _UNSPACED
        return parser_of(resources, lang, "parse", pretokenized=spaced)


def is_punctuation(word: str, tag: str) -> bool:
    """Tell whether a word is punctuation, by its part of speech or because it has no other characters."""
    return tag == "PUNCT" or all(character in string.punctuation for character in word)
