"""BERTScore as a metric: precision, recall and F1 of greedily matched token vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.bertscore.config import FIGURES, BertScoreConfig, ScorerConfig
from bsx.catalog.depths import DepthRule
from bsx.catalog.entries import read_lists
from bsx.data.corpus import Corpus, as_texts, without_context
from bsx.encode.architecture import too_deep
from bsx.encode.idf import Idf, IdfCounter, count_idf
from bsx.encode.model import choose
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.encode.states import encode_rows, normalise
from bsx.encode.tokenizer import TokenizedText, Tokenizer
from bsx.errors import InputError
from bsx.match.greedy import FlatVectors, match_pairs, match_product, reduce_references
from bsx.metrics.base import Metric, find_metric
from bsx.metrics.core import Block, BlockScores, Figures, Reading, Values
from bsx.support.arrays import put, zeros
from bsx.support.memory import refuse_beyond
from bsx.support.provenance import VERSION, Signature
from bsx.support.settings import narrowed, part

if TYPE_CHECKING:
    from bsx.bertscore.rescale import LayerBaselines


@dataclass(frozen=True)
class Window:
    """Distinct texts, tokenised, as BERTScore matches them.

    Attributes:
        texts: distinct text -> its index in ``tokens``.
        tokens: the tokenised texts.
        offsets: where each one's tokens begin, if the tokens of all lie one after another (texts,).
        lengths: tokens of each (texts,).
        content: tokens of each that are not special (texts,); 0 means the text is empty.
    """

    texts: dict[str, int]
    tokens: list[TokenizedText]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    content: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str], tokenizer: Tokenizer) -> Window:
        """Tokenise each distinct text."""
        distinct = list(dict.fromkeys(texts))
        tokens = tokenizer.tokenize(distinct)
        lengths = np.array([len(text.ids) for text in tokens], dtype=np.int64)
        offsets = np.cumsum(lengths) - lengths
        special = tokenizer.is_special[np.concatenate([text.ids for text in tokens])]
        running = np.concatenate([[0], np.cumsum(~special)])
        content = running[offsets + lengths] - running[offsets]
        return cls({text: i for i, text in enumerate(distinct)}, tokens, offsets, lengths, content)

    def rows(self, index: int) -> slice:
        """Return where the tokens of one text are."""
        return slice(int(self.offsets[index]), int(self.offsets[index] + self.lengths[index]))

    def refuse_large_pairs(self, block: Block, budget: int) -> None:
        """Refuse a block with a pair of texts whose similarities do not fit in the memory budget.

        Raises:
            InputError: naming the segment.
        """
        for row, (candidate, references) in enumerate(zip(block.candidates, block.references, strict=True)):
            longest = len(self.tokens[self.texts[candidate]].ids)
            other = max((len(self.tokens[self.texts[text]].ids) for text in references), default=0)
            where = f"segment {block.ids[row]}: " if block.ids else ""
            # Each similarity, and once more while the best are looked for.
            refuse_beyond(8 * longest * other, budget, f"{where}matching {longest:,} with {other:,} tokens")


class BertScore(Metric[BertScoreConfig | ScorerConfig]):
    """BERTScore. Source: Zhang et al. 2020, section 3.

    Attributes:
        settings: all of its settings; those that `BertScoreConfig` does not have are as `ScorerConfig` says.
        measure: which of the three figures its value is; None: all are wanted, and F1 is the value.
        given_idf: weights counted before, to be used instead of the references'.
    """

    Config = BertScoreConfig
    takes_context = True
    given_idf: Idf | None = None

    @classmethod
    def of(cls, settings: ScorerConfig, encoders: Encoders | None = None) -> BertScore:
        """Return BERTScore of which all three figures are wanted, with encoders of its own unless some are given."""
        if encoders is None:
            encoders = Encoders(remember=False, normalize=settings.normalize, **part(settings, RunConfig))
        return cls(find_metric("bertscore", encoders.catalog)[1], narrowed(settings, ScorerConfig), encoders)

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"given_idf": self.given_idf})

    def setup(self) -> None:
        """Find the model, its tokenizer and its baselines."""
        config, encoders = self.config, self.encoders
        self.measure = config.measure if isinstance(config, BertScoreConfig) else None
        self.settings = settings = narrowed(config, ScorerConfig)
        self.choice = choose(settings.model or encoders.model, settings.lang or encoders.lang, encoders.catalog)
        layer, entry = settings.layer, self.choice.entry
        if layer is not None and entry is not None and layer > entry.layers:  # before anything is fetched
            raise too_deep(layer, entry.name, entry.layers)
        if layer is None and not settings.all_layers and entry is not None and isinstance(entry.layer, int):
            layer = entry.layer
        self.located = encoders.locate(settings.model, settings.lang)
        self.depth = self.located.architecture.depth
        self.rule: DepthRule | None = None
        if layer is None and not settings.all_layers:
            self.rule = read_lists(DepthRule, encoders.catalog.folders)[self.located.architecture.family.kind]
            layer = self.rule.layer(self.depth)
        wanted = list(range(self.depth + 1)) if layer is None else [layer]
        self.encoding = encoders.encoder(self.located, final_norm=settings.final_norm).view(wanted)
        self.layers = tuple(wanted)
        self.tokenizer = self.located.tokenizer(
            leading_space=settings.leading_space,
            specials=settings.specials,
            long=settings.long,
            before=settings.prefix or "",
            context=self.context > 0,
        )
        self.tokenizer.token_bytes = 8 * len(self.layers) * self.encoding.dimensions  # held twice while matching
        self.baselines: LayerBaselines | None = None
        if settings.rescale:
            from bsx.bertscore.rescale import find_baseline, read_baseline

            where = (self.depth, self.choice, encoders.catalog, self.located.identity)
            if settings.baseline is not None:
                self.baselines = read_baseline(Path(settings.baseline), *where)
            elif self.context:
                raise InputError(
                    "the registry's baselines were measured without context, and scores with it are rescaled by none "
                    "of them: drop rescale, or give a baseline that was measured with context"
                )
            else:
                self.baselines = find_baseline(*where)
                encoders.uses_entry("baseline", self.baselines.origin.removeprefix("registry: "))
            self.baselines.check(self.layers)
        digest = self.located.checkpoint.tokenizer_digest
        if isinstance(settings.idf, Idf):
            if settings.idf.tokenizer_digest not in ("", digest):
                raise InputError("these idf weights were counted with another tokenizer: count them again")
            self.given_idf = settings.idf
        elif not isinstance(settings.idf, bool):
            self.given_idf = count_idf(encoders.in_form(as_texts(settings.idf, "texts")), self.tokenizer, digest)

    @property
    def context(self) -> int:
        """How many sentences before each text are read as context."""
        sentences = self.config.context if isinstance(self.config, ScorerConfig) else 0
        return sentences or self.encoders.config.context

    @property
    def notes(self) -> tuple[str, ...]:
        """Say if the rescaling baseline is for another language, and what a layer by rule is worth."""
        notes = () if self.baselines is None else self.baselines.notes
        return notes if self.rule is None else (*notes, f"{self.choice.name}: {self.rule.worth(self.depth)}")

    @property
    def bytes_per_token(self) -> int:
        """Every layer's vector."""
        return 4 * len(self.layers) * self.encoding.dimensions

    @property
    def figures(self) -> Figures | None:
        """Precision, recall and F1, unless one of them is measured; see `Metric.figures`."""
        if self.measure is not None:
            return None
        remarks = {
            "empty": "without content on one side: P = R = F1 = 0, not rescaled",
            "undefined": "with only idf-0 tokens on one side: their undefined figures are set to 0",
            "truncated": f"cut off at {self.tokenizer.max_tokens} tokens ({{lost}} lost); windows (long) read all",
        }
        return Figures(FIGURES, self.choice.name, self.layers, self.settings.all_layers, "unweighted", remarks)

    def signature(self, fitted: Idf | None = None, references: tuple[int, int] | None = None) -> Signature:
        """Return everything that changes these scores; see `Metric.signature`."""
        settings, idf = self.settings, fitted or self.given_idf
        idf_text = (
            "no" if settings.idf is False else "references" if idf is None else f"{idf.digest[:12]}({idf.documents})"
        )
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
            **self.spelled_context(),
            "long": f"{settings.long}@{self.tokenizer.max_tokens or 'unlimited'}",
            "norm": "final" if settings.final_norm else "residual",
            "dtype": self.encoders.signed_dtype,
            "tokenizer": f"{self.tokenizer.backend}@{self.located.checkpoint.tokenizer_digest[:8]}",
            **self.entry_fields(),
            "normalize": self.encoders.config.normalize,
            "bsx": VERSION,
            **({} if self.measure is None else {"measure": self.measure}),
        }
        by_rule = () if self.rule is None else (self.rule.note,)
        return Signature.of(fields, (*self.doubts, *by_rule))

    @property
    def counts(self) -> str | None:
        """Idf, if it is wanted and not given."""
        return None if self.given_idf is not None or self.settings.idf is False else "idf"

    def count(self, corpus: Corpus) -> list[IdfCounter]:
        """Count the tokens of references; see `Metric.count`."""
        counter = IdfCounter()
        counter.add((without_context(text) for segment in corpus for text in segment.references), self.tokenizer)
        return [counter]

    def fit(self, corpus: Reading) -> Idf | None:
        """Return idf weights of the references, if they are wanted and not given."""
        if self.counts is None:
            return self.given_idf
        return corpus.counters(self)[0].result(self.located.checkpoint.tokenizer_digest)

    def look_ahead(self, block: Block) -> Window:
        """Tokenise a block's texts; see `Metric.look_ahead`."""
        rows = zip(block.candidates, block.references, strict=True)
        return Window.of((text for candidate, several in rows for text in (candidate, *several)), self.tokenizer)

    def score_block(self, block: Block, fitted: Idf | None) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        ready = block.ahead.get(self.spec)
        window = ready if isinstance(ready, Window) else self.look_ahead(block)
        if self.encoders.config.strict:
            cut: dict[str, None] = {}  # a reference of several systems' rows is named once
            for row, (candidate, references) in enumerate(zip(block.candidates, block.references, strict=True)):
                name = block.ids[row] if block.ids else row + 1
                for kind, text in (("candidate", candidate), *(("reference", text) for text in references)):
                    if lost := window.tokens[window.texts[text]].lost:
                        cut[f"segment {name} ({kind}, {lost} tokens too many)"] = None
            if cut:
                more = f" and {len(cut) - 3} more" if len(cut) > 3 else ""
                raise InputError(
                    f"{self.choice.name} reads {self.tokenizer.max_tokens} tokens, longer: "
                    f"{', '.join(islice(cut, 3))}{more}; shorten them, set long to window, or leave out strict"
                )
        window.refuse_large_pairs(block, self.encoders.budget)
        return self.match(block, window, self.vectors(window, fitted, block.report))

    def vectors(self, window: Window, fitted: Idf | None, report: Callable[[float], None] | None = None) -> FlatVectors:
        """Return unit vectors, weights and roles of every token of a window.

        Args:
            window: the window.
            fitted: weights of tokens; all weigh the same unless given.
            report: called with the share of the window's tokens that is encoded.
        """
        size, encoding, tokenizer = self.tokenizer.vocabulary_size, self.encoding, self.tokenizer
        ids = np.concatenate([text.ids for text in window.tokens])
        weights = np.ones(size, dtype=np.float32) if fitted is None else fitted.table(size)
        weights = np.where(tokenizer.weighs_nothing[ids], 0, weights[ids]).astype(np.float32)
        vectors = zeros((len(self.layers), len(ids) + 1, encoding.dimensions), encoding.device)
        # An empty text is never matched: nothing to encode.
        wanted = [(t, window.tokens[i], int(window.offsets[i])) for t, i in window.texts.items() if window.content[i]]
        done, tokens = 0, sum(len(text.ids) for _, text, _ in wanted)
        for rows, states in encode_rows(wanted, encoding):
            vectors[:, rows] = normalise(states)
            done += len(rows)
            if report is not None:
                report(done / tokens)
        pool = put(np.append(~tokenizer.cannot_match[ids], False), encoding.device)
        weighed = put(np.append(weights, np.float32(0)), encoding.device)
        return FlatVectors(vectors, weighed, pool, window.offsets, window.lengths)

    def match(self, block: Block, window: Window, vectors: FlatVectors) -> BlockScores:
        """Match each candidate of a block with its references, rescale, and make several references one.

        A row of which any figure is undefined, because all weights of a side are 0, has no value, and that figure is 0.
        """
        lost = np.zeros(len(block), dtype=np.int64)
        pairs: list[tuple[int, int, int]] = []  # row, candidate, reference
        for row, (text, others) in enumerate(zip(block.candidates, block.references, strict=True)):
            candidate, references = window.texts[text], [window.texts[other] for other in others]
            lost[row] = sum(window.tokens[i].lost for i in (candidate, *references))
            if window.content[candidate]:
                pairs += [(row, candidate, r) for r in references if window.content[r]]
        table = np.asarray(pairs, dtype=np.int64).reshape(-1, 3)
        matched = match_pairs(vectors, table[:, 1], table[:, 2])
        scores, empty = reduce_references(matched, table[:, 0], len(block), self.settings.multi_ref)
        if self.baselines is not None:
            scores = self.baselines.apply(scores, self.layers)
        undefined = np.isnan(scores)
        scores = np.where(undefined, 0, scores).astype(np.float32)
        values = scores[-1, :, FIGURES.index(self.measure or "f1")].astype(np.float64)
        values[undefined.any(axis=(0, 2)) & ~empty] = np.nan
        return BlockScores(values, empty, lost, figures=scores)

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: Idf | None) -> Values:
        """Score every candidate against every reference; see `Metric.score_product`."""
        window = Window.of((*candidates, *references), self.tokenizer)
        vectors = self.vectors(window, fitted)
        left, right = (np.array([window.texts[text] for text in side]) for side in (candidates, references))
        rows, columns = (np.flatnonzero(window.content[side]) for side in (left, right))
        scores = np.zeros((len(left), len(right), 3), dtype=np.float32)
        if len(rows) and len(columns):
            result = match_product(vectors, left[rows], right[columns])
            if self.baselines is not None:
                flat = result.reshape(len(self.layers), -1, 3)
                result = self.baselines.apply(flat, self.layers).reshape(result.shape)
            scores[rows[:, None], columns[None, :]] = result[-1]
        undefined = np.isnan(scores).any(axis=-1)
        return np.where(undefined, np.nan, scores[..., FIGURES.index(self.measure or "f1")].astype(np.float64))
