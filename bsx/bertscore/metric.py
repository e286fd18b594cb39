"""BERTScore as a metric: precision, recall and F1 of greedily matched token vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from bsx.bertscore.config import BertScoreConfig, ScorerConfig
from bsx.bertscore.matching import score_rows
from bsx.bertscore.rescale import LayerBaselines, find_baseline, read_baseline
from bsx.bertscore.results import FIGURES
from bsx.bertscore.windows import Window, WindowVectors, refuse_large_pairs, refuse_truncated
from bsx.data.corpus import Corpus, as_texts, without_context
from bsx.encode.architecture import too_deep
from bsx.encode.idf import Idf, IdfCounter, count_idf
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.match.pairs import match_product
from bsx.metrics.base import Metric
from bsx.metrics.blocks import Block, BlockScores, Values
from bsx.metrics.core import Figures
from bsx.metrics.zoo import find_metric
from bsx.models.choice import choose
from bsx.support.provenance import VERSION
from bsx.support.settings import narrowed, part
from bsx.support.signature import Signature

_COUNTED = 256  # segments whose references are counted in one call


class BertScore(Metric[BertScoreConfig | ScorerConfig]):
    """BERTScore. Source: Zhang et al. 2020, section 3.

    With `ScorerConfig` for settings it is what `bsx.Scorer` and a plain ``bsx score`` run.
    """

    Config = BertScoreConfig
    takes_context = True
    given_idf: Idf | None = None
    """Weights counted before, to be used instead of the references'."""

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"given_idf": self.given_idf})

    def setup(self) -> None:
        """Find the model, its tokenizer and its baselines."""
        config, encoders = self.config, self.encoders
        self.alone = config if isinstance(config, ScorerConfig) else None
        self._measure = FIGURES.index(getattr(config, "measure", "f1"))
        lang = None if self.alone is None else self.alone.lang
        self.choice = choose(config.model or encoders.model, lang or encoders.lang, encoders.catalog)
        layer = self._wanted_layer()
        self.located = encoders.locate(config.model, lang)
        self.depth = self.located.architecture.depth
        wanted = list(range(self.depth + 1)) if layer is None else [layer]
        self._norm = self.alone is None or self.alone.final_norm
        self.encoding = encoders.encoder(self.located, final_norm=self._norm).view(wanted)
        self.tokenizer = self.located.tokenizer(
            leading_space=None if self.alone is None else self.alone.leading_space,
            specials=config.specials,
            long=config.long,
            before=config.prefix or "",
            context=self.context > 0,
        )
        self.tokenizer.token_bytes = 8 * len(self.layers) * self.encoding.dimensions  # held twice while matching
        self.baselines = self._find_baselines()
        if isinstance(config.idf, bool):
            return
        digest = self.located.checkpoint.tokenizer_digest
        if not isinstance(config.idf, Idf):
            self.given_idf = count_idf(encoders.in_form(as_texts(config.idf, "texts")), self.tokenizer, digest)
        elif config.idf.tokenizer_digest in ("", digest):
            self.given_idf = config.idf
        else:
            raise InputError("these idf weights were counted with another tokenizer: count them again")

    @property
    def context(self) -> int:
        """How many sentences before each text are read as context."""
        alone = self.config.context if isinstance(self.config, ScorerConfig) else 0
        return alone or self.encoders.config.context

    @property
    def every_layer(self) -> bool:
        """Whether each layer is scored."""
        return self.alone is not None and self.alone.all_layers

    def _wanted_layer(self) -> int | None:
        if self.every_layer:
            return None
        layer, entry = self.config.layer, self.choice.entry
        if layer is not None:
            if entry is not None and layer > entry.layers:  # before anything is fetched
                raise too_deep(layer, entry.name, entry.layers)
            return layer
        if entry is None or not isinstance(entry.layer, int):
            raise InputError(
                f"no best layer is known for {self.choice.name}: choose one with layer, or all with all_layers"
            )
        return entry.layer

    def _find_baselines(self) -> LayerBaselines | None:
        if not self.config.rescale:
            return None
        if self.alone is not None and self.alone.baseline is not None:
            where = (self.depth, self.choice, self.encoders.catalog, self.located.identity)
            baselines = read_baseline(Path(self.alone.baseline), *where)
        else:
            if self.context:
                raise InputError(
                    "the registry's baselines were measured without context, and scores with it are rescaled by none "
                    "of them: drop rescale, or give a baseline that was measured with context"
                )
            baselines = find_baseline(self.choice, self.encoders.catalog, self.depth, self.located.identity)
            self.encoders.uses_entry("baseline", baselines.origin.removeprefix("registry: "))
        baselines.check(self.layers)
        return baselines

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
        """Precision, recall and F1, with `ScorerConfig`; see `Metric.figures`."""
        if self.alone is None:
            return None
        remarks = {
            "empty": "without content on one side: P = R = F1 = 0, not rescaled",
            "undefined": "with only idf-0 tokens on one side: their undefined figures are set to 0",
            "truncated": f"cut off at {self.tokenizer.max_tokens} tokens ({{lost}} lost); windows (long) read all",
        }
        return Figures(FIGURES, self.choice.name, self.layers[-1], self.every_layer, "unweighted", remarks)

    def signature(self, fitted: Idf | None = None, references: tuple[int, int] | None = None) -> Signature:
        """Return everything that changes these scores; see `Metric.signature`."""
        settings, idf = self.config, fitted or self.given_idf
        idf_text = (
            "no" if settings.idf is False else "references" if idf is None else f"{idf.digest[:12]}({idf.documents})"
        )
        fewest, most = references or (1, 1)
        fields = {
            "metric": "bertscore",
            "model": self.located.identity,
            "layer": f"all/{self.depth}" if self.every_layer else f"{self.layers[0]}/{self.depth}",
            "idf": idf_text,
            "rescale": "no" if self.baselines is None else self.baselines.digest[:12],
            "refs": f"{fewest}" if fewest == most else f"{fewest}-{most}",
            "multi_ref": settings.multi_ref,
            "specials": settings.specials,
            "space": self.tokenizer.leading_space,
            **({"prefix": self.tokenizer.before} if self.tokenizer.before else {}),
            **self.spelled_context(),
            "long": f"{settings.long}@{self.tokenizer.max_tokens or 'unlimited'}",
            "norm": "final" if self._norm else "residual",
            "dtype": self.encoders.signed_dtype,
            "tokenizer": f"{self.tokenizer.backend}@{self.located.checkpoint.tokenizer_digest[:8]}",
            **self.entry_fields(),
            "normalize": self.encoders.config.normalize,
            "bsx": VERSION,
        }
        every = fields if self.alone is not None else {**fields, "measure": FIGURES[self._measure]}
        return Signature.of(every, self.doubts)

    @property
    def counts(self) -> str | None:
        """Idf, if it is wanted and not given."""
        return None if self.given_idf is not None or self.config.idf is False else "idf"

    def fit(self, corpus: Corpus) -> Idf | None:
        """Count idf weights on the references, if they are wanted and not given."""
        return self.fit_counted(corpus, iter(self.count(corpus)))

    def count(self, corpus: Corpus) -> list[IdfCounter]:
        """Count the tokens of references; see `Metric.count`."""
        if self.counts is None:
            return []
        counter = IdfCounter()
        segments = iter(corpus)
        while block := list(islice(segments, _COUNTED)):
            texts = [without_context(text) for segment in block for text in segment.references]
            counter.add(texts, self.tokenizer.tokenize(texts))
        return [counter]

    def fit_counted(self, corpus: Corpus, counted: Iterator[IdfCounter]) -> Idf | None:
        """Return the weights of counted tokens; see `Metric.fit_counted`."""
        if self.counts is None:
            return self.given_idf
        return next(counted).result(self.located.checkpoint.tokenizer_digest)

    def look_ahead(self, block: Block) -> Window:
        """Tokenise a block's texts; see `Metric.look_ahead`."""
        rows = zip(block.candidates, block.references, strict=True)
        return Window.of((text for candidate, several in rows for text in (candidate, *several)), self.tokenizer)

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
        return score_rows(block, window, vectors, self.baselines, self.layers, self.config.multi_ref, self._measure)

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: Idf | None) -> Values:
        """Score every candidate against every reference; see `Metric.score_product`."""
        window = Window.of((*candidates, *references), self.tokenizer)
        vectors = self.vectors(window, fitted)
        left, right = (np.array([window.texts[text] for text in side]) for side in (candidates, references))
        rows, columns = (np.flatnonzero(vectors.content[side]) for side in (left, right))
        scores = np.zeros((len(left), len(right), 3), dtype=np.float32)
        if len(rows) and len(columns):
            result = match_product(vectors, left[rows], right[columns])
            if self.baselines is not None:
                flat = result.reshape(len(self.layers), -1, 3)
                result = self.baselines.apply(flat, self.layers).reshape(result.shape)
            scores[rows[:, None], columns[None, :]] = result[-1]
        undefined = np.isnan(scores).any(axis=-1)
        return np.where(undefined, np.nan, scores[..., self._measure].astype(np.float64))


def by_itself(config: ScorerConfig, encoders: Encoders | None = None) -> BertScore:
    """Return BERTScore for all three figures.

    Args:
        config: the settings.
        encoders: encoders to share with other metrics; of its own unless given, as the settings say.
    """
    if encoders is None:
        encoders = Encoders(remember=False, normalize=config.normalize, **part(config, RunConfig))
    return BertScore(find_metric("bertscore", encoders.catalog)[1], narrowed(config, ScorerConfig), encoders)
