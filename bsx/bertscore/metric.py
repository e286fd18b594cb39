"""BERTScore as a metric: precision, recall and F1 of greedily matched token vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.bertscore.config import BertScoreSettings, ScorerConfig
from bsx.bertscore.matching import score_window
from bsx.bertscore.rescale import LayerBaselines, find_baseline, read_baseline
from bsx.bertscore.window_vectors import Carry, WindowVectors
from bsx.bertscore.windows import BLOCK, Window, one_window, refuse_truncated, window_of, windows
from bsx.catalog.catalog import Catalog
from bsx.data.corpus import Corpus, Segment
from bsx.encode.idf import Idf, IdfCounter
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.match.product import match_product
from bsx.metrics.base import Metric
from bsx.metrics.blocks import Block, BlockScores, Values
from bsx.metrics.core import MetricConfig
from bsx.metrics.plan import Plan
from bsx.metrics.run import rows_of
from bsx.metrics.zoo import find_metric
from bsx.models.choice import choose
from bsx.models.ranking import unseen_note
from bsx.support.provenance import bsx_version
from bsx.support.signature import Signature

FIGURES = ("precision", "recall", "f1")
# Enough tokens for batches of equal length; more only costs memory.
_WINDOW_TOKENS = 131_072


class BertScoreConfig(MetricConfig):
    """Settings of BERTScore as one metric of several, which has one figure."""

    measure: Annotated[Literal["f1", "precision", "recall"], Field(description="Which of the three figures.")] = "f1"
    model: Annotated[str | None, Field(description="Encoder; the run's, or that of the language.")] = None
    layer: Annotated[int | None, Field(ge=0, description="Layer; the model's best unless given.")] = None
    idf: Annotated[bool, Field(description="Weight tokens by their idf in the references.")] = False
    rescale: Annotated[bool, Field(description="Rescale by the model's baseline for the language.")] = False
    multi_ref: Annotated[
        Literal["columnwise", "best"],
        Field(description="Several references: the highest of each figure, or all from the one with the best F1."),
    ] = "columnwise"
    specials: Annotated[
        Literal["match", "exclude", "bert-score"], Field(description="Whether special tokens may be matched.")
    ] = "match"
    long: Annotated[
        Literal["truncate", "window"], Field(description="Texts beyond the model's limit: cut, or read in windows.")
    ] = "truncate"


class ThreeFigures(BertScoreSettings, MetricConfig):
    """Settings of BERTScore by itself, of which all three figures are wanted, of all layers if need be."""


@dataclass(frozen=True, kw_only=True)
class WindowBlock(Block):
    """A block that was cut and tokenised by BERTScore itself.

    Attributes:
        window: its texts and their tokens.
        carry: vectors kept from earlier windows.
        uses: hash of a text -> how many uses of it remain.
    """

    window: Window
    carry: Carry
    uses: dict[int, int]


class BertScore(Metric[BertScoreConfig | ThreeFigures]):
    """BERTScore. Source: Zhang et al. 2020, section 3.

    With `ThreeFigures` for settings it is what `bsx.Scorer` and a plain ``bsx score`` run: alone, it cuts the corpus by
    its own tokens and keeps the vectors of texts that come again, so that each distinct text is encoded once.
    """

    Config = BertScoreConfig
    given_idf: Idf | None = None
    """Weights counted before, to be used instead of the references'."""

    def setup(self) -> None:
        """Find the model, its tokenizer and its baselines."""
        named = self.config.model_dump(exclude={"measure"})
        self._alone = isinstance(self.config, ThreeFigures)
        self.settings = BertScoreSettings(**named)
        self._measure = FIGURES.index(getattr(self.config, "measure", "f1"))
        encoders, model, lang = self.encoders, self.settings.model, self.settings.lang
        self.choice = choose(model or encoders.model, lang or encoders.lang, encoders.catalog)
        layer = self._wanted_layer()
        self.located = encoders.locate(model, lang)
        self.depth = self.located.architecture.depth
        wanted = list(range(self.depth + 1)) if layer is None else [layer]
        self.encoding = encoders.encoder(self.located, final_norm=self.settings.final_norm).view(wanted)
        self.tokenizer = self.located.tokenizer(
            leading_space=self.settings.leading_space, specials=self.settings.specials, long=self.settings.long
        )
        self.baselines = self._find_baselines()

    def _wanted_layer(self) -> int | None:
        if self.settings.all_layers:
            return None
        entry = self.choice.entry
        if self.settings.layer is not None:
            if entry is not None and self.settings.layer > entry.layers:
                raise InputError(
                    f"layer {self.settings.layer} is out of range: {entry.name} has layers 0 to {entry.layers}"
                )
            return self.settings.layer
        if entry is None or not isinstance(entry.layer, int):
            raise InputError(
                f"no best layer is known for {self.choice.name}: choose one with `layer=`, or all "
                "with `all_layers=True`"
            )
        return entry.layer

    def _find_baselines(self) -> LayerBaselines | None:
        if not self.settings.rescale:
            return None
        if self.settings.baseline is not None:
            return read_baseline(self.settings.baseline, self.depth)
        return find_baseline(self.choice, self.encoders.catalog, self.depth)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that are scored."""
        return tuple(self.encoding.layers)

    @property
    def bytes_per_token(self) -> int:
        """Every layer's vector, held twice while matching."""
        return 8 * len(self.layers) * self.encoding.dimensions

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the chosen model, one sentence each."""
        language = self.choice.language
        known = language is None or not language.unseen or self.choice.name != language.model
        return () if known or language is None else (unseen_note(language),)

    def signature(self, fitted: Idf | None = None, references: tuple[int, int] | None = None) -> Signature:
        """Return everything that changes these scores; see `Metric.signature`."""
        settings, idf = self.settings, fitted or self.given_idf
        idf_text = "no" if not settings.idf else "references" if idf is None else f"{idf.digest[:12]}({idf.documents})"
        fewest, most = references or (1, 1)
        fields = {
            "metric": "bertscore",
            "model": self.located.identity,
            "layer": f"all/{self.depth}" if settings.all_layers else f"{self.layers[0]}/{self.depth}",
            "idf": idf_text,
            "rescale": "no" if self.baselines is None else self.baselines.digest[:12],
            "refs": f"{fewest}" if fewest == most else f"{fewest}-{most}",
            "multi_ref": settings.multi_ref,
            "specials": settings.specials,
            "space": self.tokenizer.leading_space,
            "long": f"{settings.long}@{self.tokenizer.max_tokens or 'unlimited'}",
            "norm": "final" if settings.final_norm else "residual",
            "dtype": self.encoders.dtype,
            "backend": self.encoding.backend,
            "tokenizer": f"{self.tokenizer.backend}@{self.located.checkpoint.tokenizer_digest[:8]}",
            "transformers": _transformers_version(),
            "bsx": bsx_version(),
        }
        return Signature.of(fields if self._alone else {**fields, "measure": FIGURES[self._measure]})

    def fit(self, corpus: Corpus) -> Idf | None:
        """Count idf weights on the references, if they are wanted and not given."""
        if self.given_idf is not None or not self.settings.idf:
            return self.given_idf
        counter = IdfCounter()
        segments = iter(corpus)
        while block := list(islice(segments, BLOCK)):
            texts = [text for segment in block for text in segment.references]
            counter.add(texts, self.tokenizer.tokenize(texts))
        return counter.result(self.located.checkpoint.tokenizer_digest)

    @property
    def window_tokens(self) -> int:
        """Tokens of a window as the memory budget allows, where BERTScore runs by itself; see `Metric.windows`."""
        row_bytes = len(self.layers) * self.encoding.dimensions * 4
        return max(1, min(_WINDOW_TOKENS, self.encoders.budget // 2 // row_bytes)) if self._alone else 0

    @contextmanager
    def windows(
        self, corpus: Corpus, plan: Plan, start: int, tokens: int
    ) -> Iterator[Iterator[tuple[list[Segment], Block]]]:
        """Cut a corpus by its tokens; see `Metric.windows`."""
        uses = plan.reused_after(corpus, start)
        with closing(Carry(self.encoders.budget // 4)) as carry:
            yield (
                (window.segments, _as_block(window, carry, uses))
                for window in windows(corpus, self.tokenizer, tokens, start)
            )

    def score_block(self, block: Block, fitted: Idf | None) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        if isinstance(block, WindowBlock):
            scores, vectors = self._score(block.window, fitted, block.carry, block.report)
            block.carry.settle(block.window, vectors, block.uses)
            return scores
        with closing(Carry(0)) as nothing:
            return self._score(window_of(block, self.tokenizer), fitted, nothing, block.report)[0]

    def _score(
        self, window: Window, fitted: Idf | None, carry: Carry, report: Callable[[float], None] | None
    ) -> tuple[BlockScores, WindowVectors]:
        if self.settings.strict:
            refuse_truncated(window, self.choice.name, self.tokenizer.max_tokens)
        vectors = self.vectors(window, fitted, carry, report)
        return self.match(window, vectors), vectors

    def vectors(
        self, window: Window, fitted: Idf | None, carry: Carry, report: Callable[[float], None] | None = None
    ) -> WindowVectors:
        """Return the token vectors of a window; what is in ``carry`` is not encoded."""
        return WindowVectors(window, self.tokenizer, self._weights(fitted), self.encoding, carry, report)

    def match(self, window: Window, vectors: WindowVectors) -> BlockScores:
        """Match candidates with references, rescale, and make several references one."""
        return score_window(window, vectors, self.baselines, self.layers, self.settings.multi_ref, self._measure)

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: Idf | None) -> Values:
        """Score every candidate against every reference; see `Metric.score_product`."""
        window = one_window([Segment("", tuple(candidates), tuple(references))], self.tokenizer)
        with closing(Carry(0)) as carry:
            vectors = self.vectors(window, fitted, carry)
        left, right = (np.array([window.texts[text] for text in side]) for side in (candidates, references))
        rows, columns = (np.flatnonzero(vectors.content[side]) for side in (left, right))
        scores = np.zeros((len(left), len(right), 3), dtype=np.float32)
        if len(rows) and len(columns):
            found = match_product(vectors, left[rows], right[columns])
            if self.baselines is not None:
                flat = found.reshape(len(self.layers), -1, 3)
                found = self.baselines.apply(flat, self.layers).reshape(found.shape)
            scores[rows[:, None], columns[None, :]] = found[-1]
        undefined = np.isnan(scores).any(axis=-1)
        return np.where(undefined, np.nan, scores[..., self._measure].astype(np.float64))

    def _weights(self, idf: Idf | None) -> NDArray[np.float32]:
        size = self.tokenizer.vocabulary_size
        return np.ones(size, dtype=np.float32) if idf is None else idf.table(size)


def by_itself(config: ScorerConfig, *, registry: Catalog | None = None, encoders: Encoders | None = None) -> BertScore:
    """Return BERTScore for all three figures, on encoders of its own unless some are given.

    Args:
        config: the settings.
        registry: a registry to use instead of the one that the settings name.
        encoders: encoders to share with other metrics; they say where to run and which registry to use.
    """
    if encoders is None:
        run = config.model_dump(include=set(RunConfig.model_fields) - {"registry"})
        encoders = Encoders(registry=registry or config.registry, remember=False, **run)
    own = config.model_dump(include=set(BertScoreSettings.model_fields))
    return BertScore(find_metric("bertscore", encoders.catalog)[1], ThreeFigures(**own), encoders)


def _as_block(window: Window, carry: Carry, uses: dict[int, int]) -> WindowBlock:
    rows = rows_of(window.segments)
    return WindowBlock(
        rows.candidates, rows.references, rows.sources, rows.systems, rows.ids, window=window, carry=carry, uses=uses
    )


def _transformers_version() -> str:
    import transformers

    return str(transformers.__version__)
