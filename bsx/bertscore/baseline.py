"""Computing rescaling baselines: the mean score of random pairs of sentences, for every layer at once.

Source: Zhang et al. 2020, section 3. The sums are streamed, so that any number of pairs fits in memory, a run can stop
as soon as its standard error is small enough, and an interrupted run goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bsx.catalog.entries.models import Baseline
from bsx.data.corpus import MemoryCorpus
from bsx.data.output import atomic_text
from bsx.errors import InputError
from bsx.metrics.run import prepare, stream
from bsx.support.result import Result

if TYPE_CHECKING:
    from bsx.bertscore.scorer import Scorer

BLOCK = 10_000  # pairs between two looks at the standard error
_TOKENS = 32_768  # of distinct texts between two saved states: seconds for most models, a minute for the largest


@dataclass(frozen=True, repr=False)
class BaselineResult(Result):
    """A baseline, with the fields of `bsx.catalog.entries.models.Baseline`, and how sure it is.

    Attributes:
        pairs: how many pairs were scored.
        seed: of the pairs.
        standard_error: of F1 by layer.
    """

    kind: ClassVar[str] = "registry-baseline"

    language: str
    model: str
    domain: str | None
    tokens: float
    precision: Sequence[float]
    recall: Sequence[float]
    f1: Sequence[float]
    source: str
    corpus: str
    pairs: int
    seed: int
    standard_error: Sequence[float]


class BaselineRun:
    """A computation that can be continued.

    Args:
        scorer: made with ``all_layers=True``, without idf or rescaling.
        sentences: sentences of one language; blank and repeated ones are dropped.
        seed: of the random pairs; pair i depends on it and i alone, however often the run was interrupted.
        state: file that keeps the sums between runs; None keeps nothing.

    Attributes:
        pairs: pairs scored so far.

    Raises:
        InputError: if the scorer is set up otherwise, there are fewer than two distinct sentences, or the state
            belongs to another computation.
    """

    def __init__(self, scorer: Scorer, sentences: Sequence[str], *, seed: int = 1, state: Path | None = None) -> None:
        config = scorer.config
        if not config.all_layers or config.idf or config.rescale:
            raise InputError("a baseline needs a scorer with all_layers and without idf or rescale")
        self._scorer = scorer
        self._sentences = list(dict.fromkeys(text for text in sentences if text.strip()))
        if len(self._sentences) < 2:
            raise InputError("a baseline needs at least two distinct sentences")
        self._seed = seed
        self._state = state
        self.corpus_digest = hashlib.sha256("".join(f"{text}\n" for text in sentences).encode()).hexdigest()
        self._key = [str(scorer.signature()), self.corpus_digest, seed, BLOCK]
        self.pairs = 0
        self._sums = np.zeros((len(scorer.layers), 3))
        self._squares = np.zeros((len(scorer.layers), 3))
        if state is None or not state.is_file():
            return
        try:
            saved = dict(json.loads(state.read_text(encoding="utf-8")))
            if saved["key"] != self._key:
                raise InputError(f"{state}: belongs to another model, corpus or seed; remove it, or name another file")
            self.pairs = int(saved["pairs"])
            self._sums, self._squares = np.array(saved["sums"]), np.array(saved["squares"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{state}: is not the state of a baseline run ({error!r}); remove it") from error

    def run(
        self, pairs: int, *, tolerance: float | None = None, progress: Callable[[str, int, int], None] | None = None
    ) -> None:
        """Score random pairs until there are ``pairs`` of them, or every standard error is at most ``tolerance``."""
        while self.pairs < pairs:
            if tolerance is not None and self.pairs >= BLOCK and float(self.standard_error().max()) <= tolerance:
                return
            rng = np.random.default_rng([self._seed, self.pairs // BLOCK])
            n, offset = len(self._sentences), self.pairs % BLOCK
            left = rng.integers(n, size=BLOCK)
            right = (left + rng.integers(1, n, size=BLOCK)) % n  # never the sentence itself
            chosen = slice(offset, min(BLOCK, offset + pairs - self.pairs))
            texts, others = ([self._sentences[i] for i in side[chosen]] for side in (left, right))
            prepared = prepare([self._scorer.metric], MemoryCorpus({"candidate": texts}, others))
            for part in stream(prepared, tokens=_TOKENS):  # the sums are kept every few seconds
                figures = part.scores[0].all_figures().astype(np.float64)
                self._sums += figures.sum(axis=1)
                self._squares += (figures**2).sum(axis=1)
                self.pairs += len(part.segments)
                if self._state is not None:
                    sums = {"sums": self._sums.tolist(), "squares": self._squares.tolist()}
                    with atomic_text(self._state, internal=True) as written:
                        json.dump({"key": self._key, "pairs": self.pairs, **sums}, written)
                if progress is not None:
                    progress("baseline pairs", self.pairs, pairs)

    def mean(self) -> np.ndarray:
        """Return the mean P, R, F1 of each layer (layers, 3)."""
        if self.pairs == 0:
            raise InputError("no pair has been scored yet")
        return self._sums / self.pairs

    def standard_error(self) -> np.ndarray:
        """Return the standard error of each mean (layers, 3), taking pairs as independent."""
        variance = np.maximum(self._squares / self.pairs - self.mean() ** 2, 0)
        return np.asarray(np.sqrt(variance / max(self.pairs - 1, 1)))

    def result(self, language: str, corpus: str, domain: str | None = None) -> Baseline:
        """Return the registry entry.

        Args:
            language: code of the sentences' language.
            corpus: where the sentences are from, for the record; digest, number of pairs and seed are added.
            domain: what they are, such as news.
        """
        tokenizer, mean = self._scorer.tokenizer, self.mean()
        counts = [int((~tokenizer.is_special[text.ids]).sum()) for text in tokenizer.tokenize(self._sentences)]
        return Baseline(
            language=language,
            model=self._scorer.model,
            domain=domain,
            tokens=round(float(np.mean(counts)), 1),
            precision=[round(float(value), 8) for value in mean[:, 0]],
            recall=[round(float(value), 8) for value in mean[:, 1]],
            f1=[round(float(value), 8) for value in mean[:, 2]],
            source=f"bsx registry baseline; {self._scorer.signature()}",
            corpus=(
                f"{corpus}; {len(self._sentences)} distinct sentences, sha256 {self.corpus_digest}; {self.pairs} "
                f"random pairs, seed {self._seed}, largest standard error {float(self.standard_error().max()):.2g}"
            ),
        )
