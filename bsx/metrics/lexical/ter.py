"""Translation edit rate by sacreBLEU."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.catalog.entries.models import LanguageEntry
from bsx.metrics.base import Metric
from bsx.metrics.core import BY_SCRIPT, Block, BlockScores, MetricConfig, Reading, Values
from bsx.metrics.lexical.common import block_scores, language_of, present, say_cut, units
from bsx.metrics.lexical.shifts import Reference
from bsx.support.optional import need
from bsx.support.untyped import Untyped

_SPLIT = {"Hans", "Hant", "Jpan"}  # scripts that asian_support splits
_IN_CHARACTERS = "split into characters, as sacreBLEU does with normalized=true and asian_support=true"


class TerConfig(MetricConfig):
    """Settings of TER; names are sacreBLEU's, and so are the defaults but in Chinese and Japanese."""

    normalized: Annotated[
        bool | None,
        Field(description="Normalise and split punctuation as mteval does; with asian_support unless given."),
    ] = None
    no_punct: Annotated[bool, Field(description="Leave out punctuation.")] = False
    asian_support: Annotated[
        bool | None,
        Field(
            description="Split Asian scripts into characters, with normalized; in Chinese and Japanese, by language or "
            "script, unless given."
        ),
    ] = None
    case_sensitive: Annotated[bool, Field(description="Regard case.")] = False


class Ter(Metric[TerConfig]):
    """Edits with shifts per reference word, times 100; lower is better. Source: Snover et al. 2006."""

    Config = TerConfig
    encodes = False
    pace = 2.4e-06
    _packages = ("sacrebleu",)

    def setup(self) -> None:
        """Build sacreBLEU's object."""
        config, language = self.config, self.encoders.language
        kind = need("sacrebleu.metrics.ter", "TER").TER
        rest = config.model_dump(exclude={"normalized", "asian_support"})

        @cache
        def scorer(asian: bool) -> Untyped:
            normalized = asian if config.normalized is None else config.normalized
            return kind(normalized=normalized, asian_support=asian, **rest)

        self._scorer = scorer
        self._given = config.asian_support
        if self._given is None and config.normalized is False:
            self._given = False  # sacreBLEU splits nothing without it
        self._asian = self._given  # None: as the script of the texts says
        if self._asian is None and (language is not None or not self.looks_at_script):
            self._asian = _is_split(language)

    def fit(self, corpus: Reading) -> bool | None:
        """Return whether the texts' script is split into characters; None if settings or language decide."""
        language = language_of(self, corpus) if self._asian is None else self.encoders.language
        say_cut(self, language if _is_split(language) and self._given is None else None, _IN_CHARACTERS)
        return _is_split(language) if self._asian is None else None

    def memory(self, candidate: str, other: str) -> int:
        """Return the bytes of its table of edits, with a cell for each two words; see `Metric.memory`."""
        return super().memory(candidate, other) + 100 * units(candidate) * units(other)

    def signature_fields(self, fitted: bool | None) -> dict[str, object]:
        """Return how texts are split, and the version."""
        asian, normalized = fitted if self._asian is None else self._asian, self.config.normalized
        split = (BY_SCRIPT, BY_SCRIPT) if asian is None else (asian if normalized is None else normalized, asian)
        return {"normalized": split[0], "asian_support": split[1], **super().signature_fields(fitted)}

    def score_block(self, block: Block, fitted: bool | None) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        ter = self._scorer(bool(fitted if self._asian is None else self._asian))
        groups = [present(references) for references in block.references]
        words = {text: ter._preprocess_segment(text) for text in {*block.candidates, *chain(*groups)}}
        # sacreBLEU prepares references twice, which splits some of them further.
        twice = {text: ter._preprocess_segment(words[text]).split() for text in {*chain(*groups)}}
        known = {text: Reference(cut) for text, cut in twice.items()}
        statistics = np.zeros((len(block), 2))
        for row, (candidate, kept) in enumerate(zip(block.candidates, groups, strict=True)):
            cut = words[candidate].split()
            fewest = min([known[text].edits(cut) for text in kept])
            statistics[row] = fewest, sum([len(twice[text]) for text in kept]) / len(kept)
        edits, lengths = statistics.T
        # Where no reference has a word, any word is wrong.
        rates = np.divide(edits, lengths, out=(edits > 0).astype(np.float64), where=lengths > 0)
        return block_scores(block, 100 * rates, statistics)

    def system_score(self, statistics: Values) -> float:
        """Return all edits over all reference words (the mean number, with several references), times 100."""
        return float(self._scorer(bool(self._asian))._compute_score_from_stats(list(statistics)).score)


def _is_split(language: LanguageEntry | None) -> bool:
    return language is not None and language.script in _SPLIT
