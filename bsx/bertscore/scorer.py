"""The front door of BERTScore: one model, ready to score any number of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, SkipValidation

from bsx.bertscore.alignment import Alignment, Side
from bsx.bertscore.config import FIGURES, ScorerConfig
from bsx.bertscore.metric import BertScore
from bsx.bertscore.results import Scores
from bsx.data import cells
from bsx.data.corpus import Corpus, InContext, MemoryCorpus, References, Texts, as_references, as_texts
from bsx.encode.idf import Idf, count_idf
from bsx.encode.run_config import RunConfig
from bsx.encode.session import SharedSettings, refuse_beside
from bsx.encode.states import normalise
from bsx.errors import InputError
from bsx.match.greedy import greedy_match
from bsx.metrics.core import Block
from bsx.metrics.results import scored_rows
from bsx.support.arrays import Array, fetch, tensor, within
from bsx.support.optional import need
from bsx.support.progress import Watch
from bsx.support.provenance import Signature
from bsx.support.settings import Option, made_of, our_names, part, set_fields, settled

if TYPE_CHECKING:
    import torch


class ScorerSettings(ScorerConfig, SharedSettings):
    """What a `Scorer` is made of: BERTScore's settings, and where it runs or encoders that are there."""


class Scorer:
    """BERTScore with one model, ready to score any number of texts.

    It runs `bsx.bertscore.metric.BertScore`, as ``bsx.get_metric("bertscore")`` does, for all three figures.

    Threads may share one. Pickled or copied deeply it is a recipe, which loads the model anew: the settings, with the
    idf weights and the encoders' settings if such were given.

    Args:
        settings: by name; these ten matter most, `bsx.ScorerConfig` has all.

            - ``model``: a registry name or alias such as ``minilm``, a folder (a text, or a `Path`), or a hub id; see
              `bsx.encode.model.choose`. It may stand first, without its name.
            - ``lang``: language of the texts, such as ``de``; chooses the model unless one is given, and the baseline.
            - ``layer``: whose vectors are matched; the model's best unless given.
            - ``all_layers``: score with every layer, 0 (embeddings) to the last.
            - ``idf``: True to weigh tokens by their idf in the references of each call; a list of texts to count on
              instead; or `Idf` weights counted before.
            - ``rescale``: by the model's baseline for the language, so that unrelated texts score about 0.
            - ``multi_ref``: of several references, ``columnwise`` takes the highest P, R and F1 each by itself,
              ``best`` all three from the reference with the best F1.
            - ``device``: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
            - ``cache``: a folder that keeps vectors for later runs, so that no text is encoded twice.
            - ``encoders``: shared with other metrics; they say where to run and which registry to use.

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

    @settled(ScorerSettings, "model")
    def __init__(self, settings: ScorerSettings) -> None:
        self._private = settings.encoders is None
        if settings.encoders is not None:
            refuse_beside(settings, RunConfig)
        self.config = settings
        self.metric = BertScore.of(settings, settings.encoders)
        self.encoders = self.metric.encoders
        self.tokenizer = self.metric.tokenizer
        if self._private and settings.cache is None:
            _ = self.metric.encoding.shared.batcher  # loaded now, and not while somebody waits for scores

    def __reduce__(self) -> tuple[object, ...]:
        idf = self.metric.given_idf or self.config.idf
        return made_of, (type(self), {**set_fields(self.config), "idf": idf})

    def __repr__(self) -> str:
        given = set_fields(self.config, "model", "lang", "encoders", "registry")
        shown = {name: value for name, value in given.items() if value != type(self.config).model_fields[name].default}
        shown |= {} if self.config.idf is False else {"idf": True}
        named = {"model": self.model, "lang": self.config.lang, **dict(sorted(shown.items()))}
        return f"Scorer({', '.join(f'{name}={value!r}' for name, value in named.items() if value is not None)})"

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

    @our_names
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
        systems = {"candidate": candidates}
        return self.score_systems(systems, references, documents=documents, progress=progress)["candidate"]

    __call__ = score

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
        corpus: Corpus = MemoryCorpus(systems, references, documents=documents)
        if (documents is None) == bool(self.config.context):
            raise InputError("context and documents go together: documents name what the context of a sentence is from")
        if self.config.context:
            corpus = InContext(corpus, self.config.context)
        prepared, ids, ((_, whole),) = scored_rows([self.metric], corpus, progress=progress)
        result, signature = {}, prepared.signature(0)
        for k, name in enumerate(corpus.systems):
            rows = whole.select(np.arange(k, len(whole.values), len(corpus.systems)))
            figures = rows.all_figures() if self.config.all_layers else rows.all_figures()[0]
            precision, recall, f1 = (np.ascontiguousarray(figures[..., j]) for j in range(3))
            result[name] = Scores(
                precision=precision,
                recall=recall,
                f1=f1,
                signature=signature,
                layers=self.layers,
                ids=ids,
                empty=np.flatnonzero(rows.empty),
                unweighted=np.flatnonzero(rows.undefined),
                truncated=np.flatnonzero(rows.lost),
                tokens_lost=rows.lost[rows.lost > 0],
            )
        return result

    def count_idf(self, texts: Texts) -> Idf:
        """Count idf weights on a list of texts, for use as ``idf`` of any scorer with the same tokenizer."""
        read = self.encoders.in_form(as_texts(texts, "texts"))
        return count_idf(read, self.tokenizer, self.metric.located.checkpoint.tokenizer_digest)

    def align(self, candidate: str, reference: str) -> Alignment:
        """Return which token matches which, for one pair; see `bsx.bertscore.alignment.Alignment`."""
        idf = self.metric.given_idf
        if self.config.context:
            raise InputError("an alignment is of two texts alone: leave out context")
        if self.config.all_layers:
            raise InputError("an alignment shows one layer: choose it with layer")
        if self.config.idf and idf is None:
            raise InputError("one reference is no corpus to count idf on: give the scorer idf weights or texts instead")
        texts = self.encoders.in_form([cells.text(candidate, "candidate"), cells.text(reference, "reference")])
        block = Block([texts[0]], [(texts[1],)], None, np.zeros(1, dtype=np.int64))
        window = self.metric.look_ahead(block)
        window.refuse_large_pairs(block, self.encoders.budget)
        vectors = self.metric.vectors(window, idf)
        precision, recall, f1 = self.metric.match(block, window, vectors).all_figures()[0, 0].tolist()
        for name, text in zip(("candidate", "reference"), texts, strict=True):
            if not window.content[window.texts[text]]:
                raise InputError(f"the {name} has no content to align: {text!r}")
        left, right = (window.rows(window.texts[text]) for text in texts)
        cosines = within(fetch(vectors.vectors[0, left] @ vectors.vectors[0, right].T))
        pool, weights = fetch(vectors.pool), fetch(vectors.weights)
        for_candidate = np.where(pool[right][None, :], cosines, -np.inf)
        for_reference = np.where(pool[left][:, None], cosines, -np.inf).T
        sides = []
        for text, rows, similar in ((texts[0], left, for_candidate), (texts[1], right, for_reference)):
            tokens = self.tokenizer.pieces(window.tokens[window.texts[text]].ids.tolist())
            sides.append(Side(text, tokens, weights[rows], similar.argmax(1), similar.max(1)))
        return Alignment(sides[0], sides[1], cosines, precision, recall, f1, self.signature())

    def loss(
        self,
        candidate_embeddings: torch.Tensor,
        references: object,
        *,
        candidate_mask: torch.Tensor | None = None,
        measure: Literal["precision", "recall", "f1"] = "f1",
        reduction: Literal["mean", "sum", "none"] = "mean",
    ) -> torch.Tensor:
        """Return 1 - BERTScore of candidate token vectors against reference texts, differentiable in the vectors.

        Args:
            candidate_embeddings: contextual token vectors in the space of the scored layer (n, tokens, dim), of any
                length; gradients flow to them.
            references: n texts, or n lists of texts, of which the best counts.
            candidate_mask: 1 for tokens, 0 for padding (n, tokens); no padding unless given.
            measure: which figure to train on.
            reduction: over the n losses.

        Returns:
            A scalar, or (n,) with ``reduction="none"``.

        Raises:
            InputError: if shapes and numbers do not fit, a reference is empty, or the scorer is of all layers, with idf
                or rescaled.

        Source: Zhang et al. 2020, section 3: every step of greedy matching but the choice of the maximum is smooth.
        """
        if self.config.all_layers or self.config.idf or self.config.rescale:
            raise InputError("the loss is defined for one layer, without idf and rescale")
        need("torch", "The loss")
        import torch

        groups = [self.encoders.in_form(several) for several in as_references(references)]
        tokenizer, encoding = self.tokenizer, self.metric.encoding
        if candidate_embeddings.dim() != 3:
            raise InputError(
                f"candidate embeddings need the shape (n, tokens, dim), not {tuple(candidate_embeddings.shape)}"
            )
        n, tokens, dimensions = candidate_embeddings.shape
        if n != len(groups) or dimensions != encoding.dimensions:
            raise InputError(
                f"candidate embeddings are {n} x {tokens} x {dimensions}: there are {len(groups)} references "
                f"and {encoding.dimensions} dimensions"
            )
        mask = torch.ones(n, tokens) if candidate_mask is None else candidate_mask
        if mask.shape != (n, tokens) or not mask.bool().any(dim=1).all():
            raise InputError(f"the candidate mask needs the shape ({n}, {tokens}) and a token in every row")
        mask = mask.to(candidate_embeddings.device)
        unit = torch.nn.functional.normalize(candidate_embeddings.float(), dim=-1)
        losses = []
        for row, group in enumerate(groups):
            candidate, present = unit[row : row + 1], mask[row : row + 1]
            scores = []
            for text in group:
                (reference,) = tokenizer.tokenize([text])
                if tokenizer.is_special[reference.ids].all():
                    raise InputError(f"a reference without content has no score to train on: {text!r}")
                weights, pool = (
                    torch.as_tensor(~flags[reference.ids]).to(unit.device)[None]
                    for flags in (tokenizer.weighs_nothing, tokenizer.cannot_match)
                )
                parts: dict[int, Array] = {}
                for batch, output in encoding.run([span.ids for span in reference.spans]):
                    for place, i in enumerate(batch):
                        parts[i] = normalise(output[0, place, reference.spans[i].positions])
                # A copy is an ordinary tensor, which autograd can save.
                vectors = torch.cat([tensor(parts[i]) for i in range(len(parts))]).clone().to(unit.device)[None]
                matched = greedy_match(candidate, vectors, present.float(), weights.float(), present.bool(), pool)
                scores.append(matched[0, FIGURES.index(measure)])
            losses.append(1 - torch.stack(scores).amax())
        stacked = torch.stack(losses)
        if reduction == "none":
            return stacked
        return stacked.sum() if reduction == "sum" else stacked.mean()

    def signature(self) -> Signature:
        """Return the signature of scores made with these settings, apart from what depends on the texts."""
        return self.metric.signature()


class CallSettings(ScorerSettings):
    """What one call of `score` takes beside its texts."""

    documents: Annotated[
        Iterable[object] | None,
        SkipValidation,
        Field(description="n names of documents, whose sentences stand together; needs context."),
        Option(python=True),
    ] = None
    progress: Annotated[
        Watch,
        Field(description="Called with phase, segments done and segments in all; True draws bars."),
        Option(python=True),
    ] = None


@settled(CallSettings, "model")
def score(candidates: Texts, references: References, settings: CallSettings) -> Scores:
    """Score candidates against references in one call.

    Args:
        candidates: n texts.
        references: n texts, or n lists of texts.
        settings: as for `bsx.Scorer` (``model`` may stand third), with ``documents`` and ``progress`` of
            `Scorer.score`. The language ``auto`` is detected from the references.

    Returns:
        Precision, recall and F1 as arrays (n,), with their signature.
    """
    given = part(settings, ScorerSettings)
    if settings.lang == "auto":
        from bsx.data.writing import detect_language

        references = as_references(references)
        given["lang"] = detect_language(text for group in references for text in group).code
    return Scorer(**given).score(candidates, references, documents=settings.documents, progress=settings.progress)
