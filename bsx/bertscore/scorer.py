"""The front door of BERTScore: one model, ready to score any number of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from bsx.bertscore.alignment import Alignment, align_texts
from bsx.bertscore.config import ScorerConfig, ScorerSettings
from bsx.bertscore.matching import collect
from bsx.bertscore.metric import by_itself
from bsx.bertscore.results import Scores
from bsx.bertscore.windows import refuse_large_pairs
from bsx.catalog.catalog import Catalog
from bsx.data import cells
from bsx.data.corpus import Corpus, InContext, MemoryCorpus, References, Texts, as_references, as_texts
from bsx.encode.idf import Idf, count_idf
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.metrics.blocks import as_block
from bsx.metrics.run import prepare, stream
from bsx.support.optional import need
from bsx.support.progress import Watch, told
from bsx.support.settings import build_config, made_of, takes
from bsx.support.signature import Signature
from bsx.support.untyped import Settings

if TYPE_CHECKING:
    import torch

    from bsx.bertscore.loss import Measure, Reduction


class Scorer:
    """BERTScore with one model, ready to score any number of texts.

    It runs `bsx.bertscore.metric.BertScore`, as ``bsx.get_metric("bertscore")`` does, for all three figures.

    Threads may share one. Pickled or copied deeply it is a recipe, which loads the model anew: the settings, with the
    idf weights and the encoders' settings if such were given.

    Args:
        model: registry name or alias, folder (a text, or a `Path`), or hub id; see `bsx.models.choice.choose`.
        lang: the texts' language, by BCP-47 tag or English name; chooses the model if none is named, and the baseline.
        idf: True to weigh tokens by their idf in the references of each call; a list of texts to count on instead; or
            `Idf` weights counted before.
        registry: a folder to lay over the registry, or a `Catalog` to use instead of it.
        encoders: encoders to share with other metrics; they say where to run and which registry to use.
        settings: every other field of `bsx.bertscore.config.ScorerConfig`, by name.

    Attributes:
        config: all settings.
        encoders: the encoders, its own unless given.
        metric: the metric.
        tokenizer: the model's tokenizer.

    Raises:
        InputError: for settings that are wrong or contradict each other.
        UnknownNameError: for an unknown model or language.
        ModelUnavailableError: if the model is neither on this machine nor reachable.
    """

    @takes(ScorerConfig)
    def __init__(
        self,
        model: str | Path | None = None,
        *,
        lang: str | None = None,
        idf: bool | Idf | Sequence[str] = False,
        registry: Catalog | Path | str | None = None,
        encoders: Encoders | None = None,
        **settings: Unpack[ScorerSettings],
    ) -> None:
        named: Settings = {**settings, "model": model, "lang": lang}
        named["idf"] = idf if isinstance(idf, bool) else True
        if encoders is not None:
            if foreign := sorted(RunConfig.model_fields.keys() & settings.keys()):
                raise InputError(f"encoders= say where and how to run: give {foreign[0]} to bsx.Encoders")
            named |= encoders.config.model_dump()
        elif not isinstance(registry, Catalog):
            named["registry"] = registry
        self.config: ScorerConfig = build_config(named, ScorerConfig)
        catalog = registry if isinstance(registry, Catalog) else None
        self.metric = by_itself(self.config, registry=catalog, encoders=encoders)
        self.encoders = self.metric.encoders
        self.tokenizer = self.metric.tokenizer
        self.metric.given_idf = self._given_idf(idf)
        self._private = encoders is None
        given = {"lang": lang, "registry": registry, "encoders": encoders, **settings}
        self._given: Settings = {name: value for name, value in given.items() if value is not None}
        if self._private and self.config.cache is None:
            self.metric.encoding.shared.load()  # now, and not while somebody waits for scores

    def _given_idf(self, idf: bool | Idf | Sequence[str]) -> Idf | None:
        if isinstance(idf, bool):
            return None
        if isinstance(idf, Idf):
            if idf.tokenizer_digest not in ("", self.metric.located.checkpoint.tokenizer_digest):
                raise InputError("these idf weights were counted with another tokenizer: count them again")
            return idf
        return self.count_idf(idf)

    def __reduce__(self) -> tuple[object, ...]:
        idf = self.metric.given_idf or self.config.idf
        return made_of, (type(self), {"model": self.config.model, "idf": idf, **self._given})

    def __repr__(self) -> str:
        changed = {name: getattr(self.config, name) for name in self.config.model_fields_set - {"model", "lang"}}
        fields = type(self.config).model_fields
        shown = {name: value for name, value in sorted(changed.items()) if value != fields[name].default}
        named = {"lang": self.config.lang, **shown} if self.config.lang is not None else shown
        settings = "".join(f", {name}={str(v) if isinstance(v, Path) else v!r}" for name, v in named.items())
        return f"Scorer({self.model!r}{settings})"

    @property
    def model(self) -> str:
        """The model's name in the registry, its folder, or its hub id."""
        return self.metric.choice.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the chosen model, one sentence each; given encoders have notes of theirs."""
        return (*self.metric.notes, *(self.encoders.notes if self._private else ()))

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that are scored."""
        return self.metric.layers

    @property
    def dimensions(self) -> int:
        """Size of a token vector."""
        return self.metric.encoding.dimensions

    @property
    def depth(self) -> int:
        """How many layers the whole model has."""
        return self.metric.depth

    def score(
        self,
        candidates: Texts,
        references: References,
        *,
        documents: Iterable[object] | None = None,
        progress: Watch = None,
    ) -> Scores:
        """Score candidates against references.

        Args:
            candidates: n texts (list, tuple, NumPy or Arrow array, pandas Series).
            references: n texts, or n lists of texts.
            documents: n names of documents, whose sentences stand together; with ``context`` only.
            progress: called with a phase's name, segments done and segments in all; True draws bars.

        Returns:
            Scores of shape (n,), or (layers, n) with ``all_layers``.

        Raises:
            InputError: if the numbers differ, anything is not a text, or (``strict``) a text is too long.

        Source: Zhang et al. 2020, section 3.
        """
        progress = told(progress)
        systems = {"candidate": candidates}
        return self.score_systems(systems, references, documents=documents, progress=progress)["candidate"]

    def score_systems(
        self,
        systems: Mapping[str, Texts],
        references: References,
        *,
        documents: Iterable[object] | None = None,
        progress: Watch = None,
    ) -> dict[str, Scores]:
        """Score several systems' candidates against the same references; every distinct text is encoded once.

        Args:
            systems: system name -> its n candidates.
            references: as in `score`.
            documents: as in `score`.
            progress: as in `score`.

        Returns:
            System name -> scores.
        """
        progress = told(progress)
        corpus: Corpus = MemoryCorpus(systems, references, documents=documents)
        if (documents is None) == bool(self.config.context):
            raise InputError("`context=` and documents= go together: documents name what a sentence's context is from")
        if self.config.context:
            corpus = InContext(corpus, self.config.context)
        prepared = prepare([self.metric], corpus, progress=progress)
        return collect(prepared, list(stream(prepared, progress=progress)), self.layers, self.config.all_layers)

    def count_idf(self, texts: Texts) -> Idf:
        """Count idf weights on a list of texts, for use as ``idf=`` of any scorer with the same tokenizer."""
        return count_idf(as_texts(texts, "texts"), self.tokenizer, self.metric.located.checkpoint.tokenizer_digest)

    def align(self, candidate: str, reference: str) -> Alignment:
        """Return which token matches which, for one pair; see `bsx.bertscore.alignment.Alignment`."""
        idf = self.metric.given_idf
        if self.config.context:
            raise InputError("an alignment is of two texts alone: leave out `context=`")
        if self.config.all_layers:
            raise InputError("an alignment shows one layer: choose it with `layer=`")
        if self.config.idf and idf is None:
            raise InputError("one reference is no corpus to count idf on: give the scorer idf weights or texts instead")
        texts = [cells.text(candidate, "candidate"), cells.text(reference, "reference")]
        block = as_block([(texts[0], (texts[1],), None, 0)])
        window = self.metric.look_ahead(block)
        refuse_large_pairs(block, window, self.encoders.budget)
        vectors = self.metric.vectors(window, idf)
        figures = self.metric.match(block, window, vectors).all_figures()
        return align_texts(self.tokenizer, window, vectors, texts, figures[0, 0], self.signature())

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
        need("torch", "The loss")
        from bsx.bertscore.loss import bertscore_loss

        return bertscore_loss(
            self.tokenizer,
            self.metric.encoding,
            candidate_embeddings,
            references,
            candidate_mask=candidate_mask,
            measure=measure,
            reduction=reduction,
        )

    def signature(self) -> Signature:
        """Return the signature of scores made with these settings, apart from what depends on the texts."""
        return self.metric.signature()


@takes(ScorerConfig)
def score(
    candidates: Texts,
    references: References,
    *,
    model: str | Path | None = None,
    lang: str | None = None,
    documents: Iterable[object] | None = None,
    idf: bool | Idf | Sequence[str] = False,
    registry: Catalog | Path | str | None = None,
    encoders: Encoders | None = None,
    progress: Watch = None,
    **settings: Unpack[ScorerSettings],
) -> Scores:
    """Score candidates against references in one call.

    Args:
        candidates: n texts.
        references: n texts, or n lists of texts.
        model: as for `bsx.Scorer`, like all that follows.
        lang: BCP-47 tag or English name of the language, which chooses the model; ``auto`` detects it from the
            references.
        documents: n names of documents, with ``context``; see `Scorer.score`.
        idf: whether and by which idf weights tokens count.
        registry: a folder to lay over the registry, or a `Catalog`.
        encoders: encoders to share with other metrics.
        progress: called with phase, segments done and segments in all; True draws bars.
        settings: every other field of `bsx.ScorerConfig`, by name.

    Returns:
        Precision, recall and F1 as arrays (n,), with their signature.
    """
    if lang == "auto":
        from bsx.data.detect import detect_language

        references = as_references(references)
        lang = detect_language(text for group in references for text in group).code
    scorer = Scorer(model, lang=lang, idf=idf, registry=registry, encoders=encoders, **settings)
    return scorer.score(candidates, references, documents=documents, progress=progress)
