"""BERTScore as a metric: precision, recall and F1 of greedily matched token vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bsx.bertscore.config import BertScoreSettings, ScorerConfig
from bsx.bertscore.matching import score_rows
from bsx.bertscore.rescale import LayerBaselines, find_baseline, read_baseline
from bsx.bertscore.windows import Window, WindowVectors, refuse_large_pairs, refuse_truncated
from bsx.catalog.catalog import Catalog
from bsx.data.corpus import Corpus, without_context
from bsx.encode.idf import Idf, IdfCounter
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.match.pairs import match_product
from bsx.metrics.base import Metric
from bsx.metrics.blocks import Block, BlockScores, Values
from bsx.metrics.core import Figures, MetricConfig
from bsx.metrics.zoo import find_metric
from bsx.models.choice import choose
from bsx.support.provenance import VERSION
from bsx.support.signature import Signature

FIGURES = ("precision", "recall", "f1")
_COUNTED = 256  # segments whose references are counted in one call


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
    prefix: Annotated[
        str | None, Field(description="Text before each text, as context that is not matched; none unless given.")
    ] = None
    long: Annotated[
        Literal["truncate", "window"], Field(description="Texts beyond the model's limit: cut, or read in windows.")
    ] = "truncate"


class ThreeFigures(BertScoreSettings, MetricConfig):
    """Settings of BERTScore by itself, of which all three figures are wanted, of all layers if need be."""


class BertScore(Metric[BertScoreConfig | ThreeFigures]):
    """BERTScore. Source: Zhang et al. 2020, section 3.

    With `ThreeFigures` for settings it is what `bsx.Scorer` and a plain ``bsx score`` run.
    """

    Config = BertScoreConfig
    given_idf: Idf | None = None
    """Weights counted before, to be used instead of the references'."""

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"given_idf": self.given_idf})

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
            leading_space=self.settings.leading_space,
            specials=self.settings.specials,
            long=self.settings.long,
            before=self.settings.prefix or "",
            context=self.settings.context > 0,
        )
        self.tokenizer.token_bytes = 8 * len(self.layers) * self.encoding.dimensions  # held twice while matching
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
            where = (self.depth, self.choice, self.encoders.catalog, self.located.identity)
            found = read_baseline(self.settings.baseline, *where)
        else:
            found = find_baseline(self.choice, self.encoders.catalog, self.depth, self.located.identity)
            self.encoders.uses_entry("baseline", found.origin.removeprefix("registry: "))
        found.check(self.layers)
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """Say if the rescaling baseline is for another language."""
        return () if self.baselines is None else self.baselines.notes

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that are scored."""
        return tuple(self.encoding.layers)

    @property
    def bytes_per_token(self) -> int:
        """Every layer's vector."""
        return 4 * len(self.layers) * self.encoding.dimensions

    @property
    def figures(self) -> Figures | None:
        """Precision, recall and F1, with `ThreeFigures`; see `Metric.figures`."""
        if not self._alone:
            return None
        remarks = {
            "empty": "without content on one side: P = R = F1 = 0, not rescaled",
            "undefined": "with only idf-0 tokens on one side: their undefined figures are set to 0",
            "truncated": f"cut off at {self.tokenizer.max_tokens} tokens ({{lost}} lost); `long='window'` reads all",
        }
        layer, every = self.layers[-1], self.settings.all_layers
        return Figures(FIGURES, self.choice.name, layer, every, "unweighted", remarks)

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
            **({"prefix": self.tokenizer.before} if self.tokenizer.before else {}),
            **({"context": f"{settings.context}*reference"} if settings.context else {}),
            "long": f"{settings.long}@{self.tokenizer.max_tokens or 'unlimited'}",
            "norm": "final" if settings.final_norm else "residual",
            "dtype": self.encoders.dtype,
            "tokenizer": f"{self.tokenizer.backend}@{self.located.checkpoint.tokenizer_digest[:8]}",
            **self.entry_fields(),
            "bsx": VERSION,
        }
        every = fields if self._alone else {**fields, "measure": FIGURES[self._measure]}
        return Signature.of(every, self.doubts)

    def fit(self, corpus: Corpus) -> Idf | None:
        """Count idf weights on the references, if they are wanted and not given."""
        if self.given_idf is not None or not self.settings.idf:
            return self.given_idf
        counter = IdfCounter()
        segments = iter(corpus)
        while block := list(islice(segments, _COUNTED)):
            texts = [without_context(text) for segment in block for text in segment.references]
            counter.add(texts, self.tokenizer.tokenize(texts))
        return counter.result(self.located.checkpoint.tokenizer_digest)

    def look_ahead(self, block: Block) -> Window:
        """Tokenise a block's texts; see `Metric.look_ahead`."""
        return Window.of_block(block, self.tokenizer)

    def score_block(self, block: Block, fitted: Idf | None) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        ready = block.ahead.get(self.spec)
        window = ready if isinstance(ready, Window) else self.look_ahead(block)
        if self.encoders.config.strict:
            refuse_truncated(block, window, self.choice.name, self.tokenizer.max_tokens)
        refuse_large_pairs(block, window, self.encoders.budget)
        return self.match(block, window, self.vectors(window, fitted, block.report))

    def vectors(
        self, window: Window, fitted: Idf | None, report: Callable[[float], None] | None = None
    ) -> WindowVectors:
        """Return the token vectors of a window."""
        size = self.tokenizer.vocabulary_size
        weights = np.ones(size, dtype=np.float32) if fitted is None else fitted.table(size)
        return WindowVectors(window, self.tokenizer, weights, self.encoding, report)

    def match(self, block: Block, window: Window, vectors: WindowVectors) -> BlockScores:
        """Match candidates with references, rescale, and make several references one."""
        return score_rows(block, window, vectors, self.baselines, self.layers, self.settings.multi_ref, self._measure)

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: Idf | None) -> Values:
        """Score every candidate against every reference; see `Metric.score_product`."""
        window = Window.of((*candidates, *references), self.tokenizer)
        vectors = self.vectors(window, fitted)
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
