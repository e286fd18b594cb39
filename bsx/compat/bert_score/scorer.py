"""`BERTScorer` of bert-score 0.3.13, on bsx's engine.

Where that package's numbers depend on the batch, or it crashes, bsx's own rules hold; docs/score/differences.md lists
the cases. Its choices that do not are followed: only CLS and SEP weigh 0 (so T5's end token and XLM's first token count
as words), and ``all_layers`` returns the residual stream of pre-norm encoders.
"""

from __future__ import annotations

import copy
import hashlib
import math
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.compat.bert_score.utils import NO_LIMIT, get_hash, get_model, get_tokenizer, own_layers, own_models, spelled
from bsx.data.corpus import as_list
from bsx.data.output import atomic_path, check_picture
from bsx.encode.idf import Idf
from bsx.errors import InputError
from bsx.support.optional import need
from bsx.support.untyped import Settings, Untyped, blaming

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

Triple = tuple["torch.Tensor", "torch.Tensor", "torch.Tensor"]

_MOST_CELLS = 5_000
"""Cells of a picture: half a GiB while it is drawn."""


class BERTScorer:
    """A model ready to score, as ``bert_score.BERTScorer`` is.

    Args:
        model_type: registry name, hub id or folder; ``lang``'s model unless given.
        num_layers: layer to score with; the model's best unless given.
        batch_size: accepted and ignored: batches are filled by tokens, and scores do not depend on them.
        nthreads: accepted and ignored.
        all_layers: score every layer.
        idf: weigh tokens by idf; ``idf_sents`` or `compute_idf` says by which.
        idf_sents: texts to count idf weights on.
        device: as in torch; the best available unless given.
        lang: language tag; unlike there, an unknown one is an error.
        rescale_with_baseline: rescale; unlike there, a missing baseline is an error at once.
        baseline_path: baseline file with the columns LAYER,P,R,F.
        use_fast_tokenizer: only in the hash: transformers 5 has one tokenizer a model.

    Raises:
        InputError: where bert-score fails an assertion.
    """

    def __init__(
        self,
        model_type: str | None = None,
        num_layers: int | None = None,
        batch_size: int = 64,
        nthreads: int = 4,
        all_layers: bool = False,
        idf: bool = False,
        idf_sents: Sequence[str] | None = None,
        device: str | None = None,
        lang: str | None = None,
        rescale_with_baseline: bool = False,
        baseline_path: str | None = None,
        use_fast_tokenizer: bool = False,
    ) -> None:
        from bsx.bertscore.scorer import Scorer
        from bsx.models.ranking import select_model

        if rescale_with_baseline and lang is None:
            raise InputError("Need to specify Language when rescaling with baseline: add lang")
        known, model = lang, model_type
        if model_type is None and lang is not None and lang.lower() in own_models:
            model = model_type = own_models[lang.lower()]
            known = None
        elif model_type is None and lang is not None:
            model = select_model(lang, prefer="paper").name  # as there; bsx itself chooses by evidence
        if num_layers is None and model_type is not None:
            num_layers = own_layers.get(model_type)
        settings: Settings = {
            "lang": known,
            "layer": None if all_layers else num_layers,
            "all_layers": all_layers,
            "rescale": rescale_with_baseline,
            "baseline": Path(baseline_path) if baseline_path is not None and rescale_with_baseline else None,
            "specials": "bert-score",
            "final_norm": not all_layers,
            "device": device or "auto",
            "normalize": "none",
        }
        self._scorer = Scorer(model=model, idf=bool(idf), **settings)
        entry = self._scorer.metric.choice.entry
        if num_layers is None and all_layers:
            num_layers = entry.layer if entry is not None and isinstance(entry.layer, int) else self._scorer.depth
        elif num_layers is None:
            num_layers = self._scorer.layers[0]
        self.batch_size, self.nthreads, self.all_layers = batch_size, nthreads, all_layers
        self._model_type = model_type or (self._scorer.model if entry is None else spelled(entry))
        self._num_layers, self._idf, self._lang = num_layers, idf, lang
        self._rescale_with_baseline, self._use_fast_tokenizer = rescale_with_baseline, use_fast_tokenizer
        self.device = str(self._scorer.encoders.device)
        self.baseline_path, self.use_custom_baseline = baseline_path, baseline_path is not None
        self._weights: Idf | None = None
        self._shown: dict[str, Untyped] = {}
        if idf_sents is not None:
            self.compute_idf(idf_sents)

    # Read only, as there: no score would follow a change.
    lang = property(attrgetter("_lang"), doc="The language that was given.")
    idf = property(attrgetter("_idf"), doc="Whether tokens weigh their idf.")
    model_type = property(attrgetter("_model_type"), doc="The model, as it was given or chosen for the language.")
    num_layers = property(
        attrgetter("_num_layers"),
        doc="The layer that is scored; with ``all_layers`` the model's best, or its last where none is known.",
    )
    rescale_with_baseline = property(attrgetter("_rescale_with_baseline"), doc="Whether scores are rescaled.")
    use_fast_tokenizer = property(attrgetter("_use_fast_tokenizer"), doc="What was given.")

    @property
    def _model(self) -> Untyped:
        """The encoder up to the layer that is scored, as a torch module; scores are computed by bsx's own."""
        if "model" not in self._shown:
            need_torch()
            self._shown["model"] = get_model(self.model_type, self.num_layers, self.all_layers).to(self.device)
        return self._shown["model"]

    @property
    def _tokenizer(self) -> Untyped:
        """The tokenizer of transformers; scores are computed by bsx's own, which cuts texts at the model's limit."""
        if "tokenizer" not in self._shown:
            need_torch()
            self._shown["tokenizer"] = get_tokenizer(self.model_type)
        return self._shown["tokenizer"]

    @property
    def _idf_dict(self) -> defaultdict[int, float] | None:
        """The idf weights that were counted or assigned."""
        if self._weights is None:
            return None
        return defaultdict(partial(float, self._weights.unseen), self._weights.weights)

    @_idf_dict.setter
    def _idf_dict(self, weights: Mapping[int, float] | None) -> None:
        self._weights = None if weights is None else given_weights(weights)

    @property
    def baseline_vals(self) -> torch.Tensor:
        """Baselines of P, R and F1 (3,), or (layers, 1, 3) with ``all_layers``.

        Raises:
            InputError: if there are none.
        """
        import torch

        from bsx.bertscore.rescale import find_baseline, read_baseline

        metric, depth = self._scorer.metric, self._scorer.depth
        where = (depth, metric.choice, self._scorer.encoders.catalog, metric.located.identity)
        path = self.baseline_path
        result = metric.baselines or (find_baseline(*where) if path is None else read_baseline(Path(path), *where))
        figures = torch.from_numpy(result.figures)
        return figures[:, None] if self.all_layers else figures[self.num_layers]

    @property
    def hash(self) -> str:
        """Bert-score's line of settings; ``verbose`` prints bsx's signature, which says more."""
        rescaled = self.rescale_with_baseline, self.use_custom_baseline
        return get_hash(self.model_type, self.num_layers, self.idf, *rescaled, self.use_fast_tokenizer)

    def compute_idf(self, sents: Sequence[str]) -> None:
        """Count the idf weights on texts."""
        if self._weights is not None:
            warnings.warn("Overwriting the previous importance weights.", stacklevel=2)
        self._weights = self._scorer.count_idf(sents)

    def score(
        self,
        cands: Sequence[str],
        refs: Sequence[str] | Sequence[Sequence[str]],
        verbose: bool = False,
        batch_size: int = 64,
        return_hash: bool = False,
    ) -> Triple | tuple[Triple, str]:
        """Score candidates; see `score` for arguments and result.

        Raises:
            InputError: if ``idf`` was asked for and its weights were not computed.
            MissingExtraError: without torch, whose tensors are returned.
        """
        del batch_size
        torch = need_torch()
        if self.idf and self._weights is None:
            raise InputError("IDF weights are not computed: give idf_sents, or call compute_idf")
        p, r, f1 = map(torch.from_numpy, self.arrays(cands, refs, verbose))
        return ((p, r, f1), self.hash) if return_hash else (p, r, f1)

    def arrays(
        self, cands: Sequence[str], refs: Sequence[str] | Sequence[Sequence[str]], verbose: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Score candidates as `score` does, without torch: P, R and F1 as arrays (n,), or (layers, n)."""
        limit = self._scorer.tokenizer.max_tokens or NO_LIMIT
        if "tokenizer" in self._shown and self._tokenizer.model_max_length < limit:
            raise InputError(
                f"model_max_length was lowered, but texts are cut at the model's limit of {limit} tokens: leave it, or "
                "call bert_cos_score_idf, which reads the tokenizer that it is given"
            )
        self._scorer.metric.given_idf = self._weights if self.idf else None
        groups = [text if isinstance(text, str) else list(text) for text in as_list(refs, "refs")]
        if verbose:
            print("calculating scores...")
        began = time.perf_counter()
        scores = self._scorer.score(cands, groups)
        if verbose:
            seconds = time.perf_counter() - began
            pairs = sum(1 if isinstance(group, str) else len(group) for group in groups)
            print(f"done in {seconds:.2f} seconds, {pairs / seconds:.2f} sentences/sec")
            print(scores.signature, file=sys.stderr)
        return scores.precision, scores.recall, scores.f1

    def plot_example(self, candidate: str, reference: str, fname: str = "") -> None:
        """Draw the cosines of all tokens of a pair but special ones, and show or save the picture.

        Args:
            candidate: a text.
            reference: a text.
            fname: a .png, .svg or .pdf file to save it in; it is shown instead if nothing is said.

        Raises:
            InputError: if a text is empty, both are too long to draw, or the file cannot be written.
            MissingExtraError: without matplotlib.
        """
        from bsx.bertscore.scorer import Scorer

        plain = Scorer(model=self.model_type, lang=self.lang, layer=self.num_layers, encoders=self._scorer.encoders)
        alignment = plain.align(candidate, reference)
        rows, columns = alignment.candidate.weights > 0, alignment.reference.weights > 0
        cosines, title = alignment.cosines[rows][:, columns], "Similarity Matrix"
        if self.rescale_with_baseline:
            f1 = float(self.baseline_vals[self.num_layers, 0, 2] if self.all_layers else self.baseline_vals[2])
            cosines, title = (cosines - f1) / (1 - f1), f"{title} (after Rescaling)"
        left = list(compress(alignment.candidate.tokens, rows))
        right = list(compress(alignment.reference.tokens, columns))
        if cosines.size > _MOST_CELLS:
            raise InputError(
                f"{len(left)} x {len(right)} tokens make {cosines.size:,} cells, and at most {_MOST_CELLS:,} are drawn"
            )
        look: Settings = {"figsize": (2 + 0.7 * len(right), 1.5 + 0.7 * len(left)), "layout": "constrained"}
        if fname:
            check_picture(path := Path(fname))
            figure = need("matplotlib.figure", "plot_example").Figure(**look)
        else:
            figure = need("matplotlib.pyplot", "plot_example").figure(**look)
        axes = figure.add_subplot()
        image = axes.imshow(cosines, cmap="Blues", vmin=0, vmax=1)
        axes.set_xticks(range(len(right)), right, rotation=45, ha="right", rotation_mode="anchor", parse_math=False)
        axes.set_yticks(range(len(left)), left, parse_math=False)
        axes.set_xlabel("Reference (tokenized)", fontsize=14)
        axes.set_ylabel("Candidate (tokenized)", fontsize=14)
        axes.set_title(title, fontsize=14)
        figure.colorbar(image, ax=axes)
        for i, row in enumerate(cosines.tolist()):
            for j, value in enumerate(row):
                axes.text(j, i, f"{value:.3f}", ha="center", va="center", color="k" if value < 0.5 else "w")
        if not fname:
            need("matplotlib.pyplot", "plot_example").show()
            return
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=150)
        print("Saved figure to file: ", fname)

    def __repr__(self) -> str:
        shown = {"hash": self.hash, "batch_size": self.batch_size, "nthreads": self.nthreads}
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in shown.items())})"


def need_torch() -> Untyped:
    """Return torch; see `BERTScorer.arrays` for figures without it."""
    return need("torch", "bsx.compat.bert_score returns tensors, as bert-score does (bsx.score returns arrays), and")


def given_weights(weights: Mapping[int, float]) -> Idf:
    """Turn a mapping into `Idf`; what it says of unknown ids is asked of a copy, which a defaultdict would grow.

    Raises:
        InputError: if a key is no number of a token, or a weight none that can be computed with.
    """
    with blaming("idf: it must map the numbers of tokens to their weights"):
        plain = {int(i): float(w) for i, w in weights.items() if i is not None}
        unseen = float(copy.copy(weights)[-1]) if hasattr(weights, "__missing__") else 1.0
    for token, weight in (*plain.items(), ("unknown ones", unseen)):
        if not 0 <= weight < math.inf:
            raise InputError(f"idf: the weight of token {token} is {weight:g}; weights are finite and not negative")
    digest = hashlib.sha256(repr((sorted(plain.items()), unseen)).encode()).hexdigest()
    return Idf(plain, unseen, 0, digest)
