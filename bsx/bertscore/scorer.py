"""BERTScore from end to end: wires tokens, encoder, matching and rescaling together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.bertscore.alignment import Alignment, align_texts
from bsx.bertscore.config import ScorerConfig
from bsx.bertscore.idf import Idf, count_idf
from bsx.bertscore.loss import Measure, Reduction, bertscore_loss
from bsx.bertscore.rescale import LayerBaselines, find_baseline, read_baseline
from bsx.bertscore.results import Scores
from bsx.bertscore.scored import ScoredWindow, collect, score_window
from bsx.bertscore.window_vectors import Carry, WindowVectors
from bsx.bertscore.windows import BLOCK, Plan, Window, ahead, refuse_truncated, survey, windows
from bsx.catalog.catalog import Catalog, load_registry
from bsx.data import cells
from bsx.data.corpus import Corpus, MemoryCorpus, Segment, as_texts
from bsx.encode.batching import Batcher
from bsx.encode.cache.cached_encoding import CachedEncoding, open_cache
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders, locate_model, memory_budget
from bsx.encode.shared import LayerView
from bsx.encode.torch_encoder import choose_device, choose_dtype
from bsx.errors import InputError
from bsx.match.product import match_product
from bsx.models.choice import choose
from bsx.models.ranking import unseen_note
from bsx.support.progress import Progress
from bsx.support.provenance import bsx_version
from bsx.support.settings import build_config
from bsx.support.signature import Signature

# Enough tokens for batches of equal length; more only costs memory.
_WINDOW_TOKENS = 131_072


class Scorer:
    """BERTScore with one model, ready to score any number of texts.

    Args:
        model: registry name or alias, folder, or hub id; see `bsx.models.choice.choose`.
        lang: BCP-47 tag of the texts' language; chooses the model if none is named, and the baseline.
        idf: True to weigh tokens by their idf in the references of each call; a list of texts to count on instead; or
            `Idf` weights counted before.
        registry: a folder to lay over the registry, or a `Catalog` to use instead of it.
        encoders: encoders to share with other metrics; they say where to run and which registry to use.
        settings: every other field of `bsx.bertscore.config.ScorerConfig`, by name.

    Raises:
        InputError: for settings that are wrong or contradict each other.
        UnknownNameError: for an unknown model or language.
        ModelUnavailableError: if the model is neither on this machine nor reachable.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        lang: str | None = None,
        idf: bool | Idf | Sequence[str] = False,
        registry: Catalog | Path | str | None = None,
        encoders: Encoders | None = None,
        **settings: Any,
    ) -> None:
        use_idf = idf if isinstance(idf, bool) else True
        folder = None if isinstance(registry, Catalog) else registry
        named = {"model": model, "lang": lang, "idf": use_idf, "registry": folder}
        if encoders is not None:
            settings |= {name: getattr(encoders.config, name) for name in RunConfig.model_fields}
            registry = encoders.catalog
        self.config: ScorerConfig = build_config({**named, **settings}, ScorerConfig)
        config = self.config
        catalog = registry if isinstance(registry, Catalog) else load_registry(config.registry)
        self._choice = choose(model, lang, catalog)
        device = encoders.device if encoders is not None else choose_device(config.device)
        self._dtype = encoders.dtype if encoders is not None else choose_dtype(config.dtype, device)
        layer = self._wanted_layer()
        trust = config.trust_remote_code
        if encoders is not None:
            located = encoders.locate(self.model, lang)
        else:
            located = locate_model(self._choice, catalog, trust_remote_code=trust)
        self._checkpoint = located.checkpoint
        self._identity = located.identity
        architecture = located.architecture
        wanted = list(range(architecture.depth + 1)) if layer is None else [layer]
        self.batcher: Batcher | CachedEncoding | LayerView
        if encoders is not None:
            shared = encoders.encoder(located, final_norm=config.final_norm)
            self._opener = shared.opener
            self.batcher = shared.view(wanted)
        else:
            cache = open_cache(config.cache, config.cache_size)
            self._opener = located.opener(config, device, self._dtype, final_norm=config.final_norm, cache=cache)
            self.batcher = self._opener.encoding(wanted, config.batch_tokens)
        self.embedder = self.batcher.embedder
        self.tokenizer = located.tokenizer(
            leading_space=config.leading_space, specials=config.specials, long=config.long
        )
        self._baselines = self._find_baselines(catalog)
        self._fixed_idf = self._given_idf(idf)
        self._budget = encoders.budget if encoders is not None else memory_budget(config.memory, device)

    def _wanted_layer(self) -> int | None:
        if self.config.all_layers:
            return None
        entry = self._choice.entry
        if self.config.layer is not None:
            if entry is not None and self.config.layer > entry.layers:
                raise InputError(
                    f"layer {self.config.layer} is out of range: {entry.name} has layers 0 to {entry.layers}"
                )
            return self.config.layer
        if entry is None or not isinstance(entry.layer, int):
            raise InputError(
                f"no best layer is known for {self._choice.name}: choose one with `layer=`, or all "
                "with `all_layers=True`"
            )
        return entry.layer

    def _find_baselines(self, catalog: Catalog) -> LayerBaselines | None:
        if not self.config.rescale:
            return None
        if self.config.baseline is not None:
            return read_baseline(self.config.baseline, self.embedder.depth)
        return find_baseline(self._choice, catalog, self.embedder.depth)

    def _given_idf(self, idf: bool | Idf | Sequence[str]) -> Idf | None:
        if isinstance(idf, bool):
            return None
        digest = self._checkpoint.tokenizer_digest
        if isinstance(idf, Idf):
            if idf.tokenizer_digest not in ("", digest):
                raise InputError("these idf weights were counted with another tokenizer: count them again")
            return idf
        return count_idf(as_texts(idf, "idf"), self.tokenizer, digest)

    @property
    def model(self) -> str:
        """The model's name in the registry, its folder, or its hub id."""
        return self._choice.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the chosen model, one sentence each."""
        own = () if isinstance(self.batcher, LayerView) else tuple(self._opener.notes)  # shared encoders have their own
        language = self._choice.language
        if language is not None and language.unseen and self.model == language.model:
            return (unseen_note(language), *own)
        return own

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that are scored."""
        return tuple(self.embedder.layers)

    @property
    def depth(self) -> int:
        """How many layers the whole model has."""
        return self.embedder.depth

    def score(self, candidates: object, references: object, *, progress: Progress | None = None) -> Scores:
        """Score candidates against references.

        Args:
            candidates: n texts (list, tuple, NumPy or Arrow array, pandas Series).
            references: n texts, or n lists of texts.
            progress: called with a phase's name, segments done and segments in all.

        Returns:
            Scores of shape (n,), or (layers, n) with ``all_layers``.

        Raises:
            InputError: if the numbers differ, anything is not a text, or (``strict``) a text is too long.

        Source: Zhang et al. 2020, section 3.
        """
        return self.score_systems({"candidate": candidates}, references, progress=progress)["candidate"]

    def score_systems(
        self, systems: Mapping[str, object], references: object, *, progress: Progress | None = None
    ) -> dict[str, Scores]:
        """Score several systems' candidates against the same references; every distinct text is encoded once.

        Args:
            systems: system name -> its n candidates.
            references: as in `score`.
            progress: as in `score`.

        Returns:
            System name -> scores.
        """
        corpus = MemoryCorpus(systems, references)
        plan = self.survey(corpus, progress=progress)
        scored = list(self.stream(corpus, plan, progress=progress))
        return collect(scored, corpus.systems, self.signature(plan), self.layers, self.config.all_layers)

    def count_idf(self, texts: object) -> Idf:
        """Count idf weights on a list of texts, for use as ``idf=`` of any scorer with the same tokenizer."""
        return count_idf(as_texts(texts, "texts"), self.tokenizer, self._checkpoint.tokenizer_digest)

    def survey(self, corpus: Corpus, *, progress: Progress | None = None) -> Plan:
        """Read a corpus once: check it, count idf weights if they are wanted, find texts that occur again."""
        counting = self.config.idf and self._fixed_idf is None
        report = None if progress is None else lambda done: progress("reading", done, 0)
        plan = survey(corpus, self.tokenizer if counting else None, self._checkpoint.tokenizer_digest, report)
        if self._fixed_idf is not None:
            plan.idf = self._fixed_idf
        return plan

    @property
    def window_tokens(self) -> int:
        """Tokens of a window of `stream`, as the memory budget allows."""
        row_bytes = len(self.layers) * self.embedder.dimensions * 4
        return max(1, min(_WINDOW_TOKENS, self._budget // 2 // row_bytes))

    def stream(
        self,
        corpus: Corpus,
        plan: Plan,
        *,
        progress: Progress | None = None,
        start: int = 0,
        window_tokens: int | None = None,
    ) -> Iterator[ScoredWindow]:
        """Score a corpus of any size, one window of segments at a time, within the memory budget.

        Args:
            corpus: the segments.
            plan: what `survey` said about this corpus.
            progress: as in `score`.
            start: how many segments to leave out, because they are scored already.
            window_tokens: tokens of a window, if not as many as memory allows.

        Yields:
            Results in the corpus's order.
        """
        weights = self._weights(plan)
        limit = window_tokens or self.window_tokens
        reused = plan.reused_after(corpus, start)
        with closing(Carry(self._budget // 4)) as carry:
            ready = windows(corpus, self.tokenizer, limit, start)
            for window in ahead(ready, worthwhile=plan.segments - start > BLOCK):
                if self.config.strict:
                    refuse_truncated(window, self.model, self.tokenizer.max_tokens)
                report = None if progress is None else _within(window, plan.segments, progress)
                vectors = WindowVectors(window, self.tokenizer, weights, self.batcher, carry, report)
                yield self._score_window(window, vectors)
                carry.settle(window, vectors, reused)
                if progress is not None:
                    progress("scoring", window.start + len(window.segments), plan.segments)

    def score_segments(self, segments: Sequence[Segment], plan: Plan) -> ScoredWindow:
        """Score some segments of a corpus at once, all their vectors in memory.

        Args:
            segments: the segments, with as many candidates each.
            plan: what `survey` said about their corpus.
        """
        window = Window(0)
        texts = list(dict.fromkeys(text for s in segments for text in (*s.candidates, *s.references)))
        tokenized = dict(zip(texts, self.tokenizer.tokenize(texts), strict=True))
        for segment in segments:
            window.add(segment, tokenized)
        if self.config.strict:
            refuse_truncated(window, self.model, self.tokenizer.max_tokens)
        with closing(Carry(0)) as carry:
            vectors = WindowVectors(window, self.tokenizer, self._weights(plan), self.batcher, carry)
            return self._score_window(window, vectors)

    def score_product(self, candidates: Sequence[str], references: Sequence[str], plan: Plan) -> NDArray[np.float32]:
        """Score every candidate against every reference at once, all their vectors in memory.

        Args:
            candidates: n texts.
            references: m texts.
            plan: what `survey` said about their corpus.

        Returns:
            P, R, F1 (layers, n, m, 3); 0 where a text is empty, NaN where no token has weight.
        """
        window = Window(0)
        texts = list(dict.fromkeys((*candidates, *references)))
        tokenized = dict(zip(texts, self.tokenizer.tokenize(texts), strict=True))
        window.add(Segment("", tuple(candidates), tuple(references)), tokenized)
        with closing(Carry(0)) as carry:
            vectors = WindowVectors(window, self.tokenizer, self._weights(plan), self.batcher, carry)
        left, right = (np.array([window.texts[text] for text in side]) for side in (candidates, references))
        rows, columns = (np.flatnonzero(vectors.content[side]) for side in (left, right))
        scores = np.zeros((len(self.layers), len(left), len(right), 3), dtype=np.float32)
        if len(rows) and len(columns):
            found = match_product(vectors, left[rows], right[columns])
            if self._baselines is not None:
                flat = found.reshape(len(self.layers), -1, 3)
                found = self._baselines.apply(flat, self.embedder.layers).reshape(found.shape)
            scores[:, rows[:, None], columns[None, :]] = found
        return scores

    def _weights(self, plan: Plan) -> NDArray[np.float32]:
        if plan.idf is not None:
            return plan.idf.table(self.tokenizer.vocabulary_size)
        return np.ones(self.tokenizer.vocabulary_size, dtype=np.float32)

    def _score_window(self, window: Window, vectors: WindowVectors) -> ScoredWindow:
        return score_window(window, vectors, self._baselines, self.layers, self.config.multi_ref)

    def align(self, candidate: str, reference: str) -> Alignment:
        """Return which token matches which, for one pair; see `bsx.bertscore.alignment.Alignment`."""
        if self.config.all_layers:
            raise InputError("an alignment shows one layer: choose it with `layer=`")
        if self.config.idf and self._fixed_idf is None:
            raise InputError("one reference is no corpus to count idf on: give the scorer idf weights or texts instead")
        texts = [cells.text(candidate, "candidate"), cells.text(reference, "reference")]
        corpus = MemoryCorpus({"candidate": texts[:1]}, texts[1:])
        plan = self.survey(corpus)
        window = next(windows(corpus, self.tokenizer, _WINDOW_TOKENS))
        with closing(Carry(0)) as carry:
            vectors = WindowVectors(window, self.tokenizer, self._weights(plan), self.batcher, carry)
        scores = self._score_window(window, vectors).scores[0, 0, 0]
        return align_texts(self.tokenizer, window, vectors, texts, scores, self.signature(plan))

    def loss(
        self,
        candidate_embeddings: torch.Tensor,
        references: object,
        *,
        candidate_mask: torch.Tensor | None = None,
        measure: Measure = "f1",
        reduction: Reduction = "mean",
    ) -> torch.Tensor:
        """Return 1 - BERTScore of candidate token vectors, differentiable in them.

        See `bsx.bertscore.loss.bertscore_loss` for the arguments.
        """
        if self.config.all_layers or self.config.idf or self.config.rescale:
            raise InputError("the loss is defined for one layer, without idf and rescale")
        return bertscore_loss(
            self.tokenizer,
            self.batcher,
            candidate_embeddings,
            references,
            candidate_mask=candidate_mask,
            measure=measure,
            reduction=reduction,
        )

    def _backend(self) -> str:
        if isinstance(self.batcher, LayerView):
            return self.batcher.backend
        return self._opener.backend(self.layers)

    def signature(self, plan: Plan | None = None) -> Signature:
        """Return the signature of scores made with these settings.

        Args:
            plan: the survey of the texts, which says what idf was counted on and how many references there are.
        """
        config = self.config
        idf = plan.idf if plan is not None else self._fixed_idf
        idf_text = "no" if not config.idf else "references" if idf is None else f"{idf.digest[:12]}({idf.documents})"
        fewest, most = plan.references if plan is not None else (1, 1)
        fields = {
            "metric": "bertscore",
            "model": self._identity,
            "layer": f"all/{self.depth}" if config.all_layers else f"{self.layers[0]}/{self.depth}",
            "idf": idf_text,
            "rescale": "no" if self._baselines is None else self._baselines.digest[:12],
            "refs": f"{fewest}" if fewest == most else f"{fewest}-{most}",
            "multi_ref": config.multi_ref,
            "specials": config.specials,
            "space": self.tokenizer.leading_space,
            "long": f"{config.long}@{self.tokenizer.max_tokens or 'unlimited'}",
            "norm": "final" if config.final_norm else "residual",
            "dtype": self._dtype,
            "backend": self._backend(),
            "tokenizer": f"{self.tokenizer.backend}@{self._checkpoint.tokenizer_digest[:8]}",
            "transformers": _transformers_version(),
            "bsx": bsx_version(),
        }
        return Signature.of(fields)


def _within(window: Window, segments: int, progress: Progress) -> Callable[[float], None]:
    """Return a function that reports how much of a window is encoded as segments done."""
    return lambda share: progress("scoring", window.start + int(share * len(window.segments)), segments)


def _transformers_version() -> str:
    import transformers

    return str(transformers.__version__)
