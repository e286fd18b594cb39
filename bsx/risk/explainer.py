"""One risk for each word of a candidate, and of its source: by the best match, or by trained networks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from bsx.catalog.entries.risks import ExplainerEntry, MatchedRisks, RiskCurve
from bsx.encode.session import Encoders
from bsx.errors import InputError, RegistryError
from bsx.risk.features import Floats, best_matches, word_features, worst_piece
from bsx.risk.inference import TrainedNetwork, word_inputs
from bsx.risk.reading import ReadText, read_texts
from bsx.support.progress import Progress
from bsx.support.provenance import file_digest
from bsx.support.signature import Signature
from bsx.support.tensors import load_arrays

RiskMethod = Literal["trained", "match"]
Side = Literal["candidate", "source"]
_BLOCK = 64  # rows encoded at once


@dataclass(frozen=True)
class TextRow:
    """What belongs together.

    Attributes:
        candidate: the text whose words are judged.
        references: none, to judge it beside its source.
        source: the source text, if there is one.
    """

    candidate: str
    references: tuple[str, ...] = ()
    source: str | None = None


@dataclass(frozen=True)
class RowRisks:
    """Risks of one row's words, as `str.split` counts them.

    Attributes:
        candidate: of the candidate (words,).
        source: of the source, or None if there is none.
        cut: whether the model's limit cut off some of a text.
    """

    candidate: Floats
    source: Floats | None
    cut: bool


class WordRisks:
    """Tells risks of words from one encoder's vectors.

    A word's risk by ``match`` is 1 less the cosine of its worst piece's best match among the pieces of the other text,
    on one layer: the reference (the best of several), or the source. ``trained`` networks read the word's vector, its
    matches on several layers, and its neighbours. Where the registry has a curve, what comes out is the probability
    that a person marks the word as an error. A word that the encoder does not see, because the model's limit cut it
    off or the tokenizer drops it, gets the mean of the words that it sees.

    Args:
        encoders: with the model.
        model: the encoder; the run's unless given.
        method: ``trained`` or ``match``; unless given, trained where there is no reference and the registry has
            networks for the model.
        layer: of ``match``, instead of the registry's; such risks are not calibrated.
        weights: word -> factor of its risk, for each side; such risks are not calibrated.

    Raises:
        InputError: for a model without networks where they are asked for.
    """

    def __init__(
        self,
        encoders: Encoders,
        model: str | None = None,
        *,
        method: RiskMethod | None = None,
        layer: int | None = None,
        weights: Mapping[Side, Mapping[str, float]] | None = None,
    ) -> None:
        self.located = encoders.locate(model)
        self._encoders = encoders
        known = self.located.choice.entry
        found = encoders.catalog.explainer(known.name) if known is not None else None
        encoders.uses_entry("explainer", self.located.choice.name)
        self.entry = found if found is not None else ExplainerEntry(model=self.located.choice.name)
        if method == "trained" and self.entry.trained is None:
            raise InputError(f"there are no trained networks for {self.located.choice.name}: use method match")
        plain = layer is not None or weights is not None
        self._trained = self.entry.trained if method == "trained" or (method is None and not plain) else None
        best = known.layer if known is not None else None
        usual = best if isinstance(best, int) else self.located.architecture.depth
        self._beside = {
            kind: MatchedRisks(layer=layer if layer is not None else given.layer if given is not None else usual)
            if plain or given is None
            else given
            for kind, given in (("reference", self.entry.reference), ("free", self.entry.free))
        }
        self._weights = weights or {}
        self.tokenizer = self.located.tokenizer()

    def method(self, side: Side, *, reference: bool) -> RiskMethod:
        """Return how the risks of a side are told: beside a reference, the candidate's are matched."""
        return "match" if self._trained is None or (reference and side == "candidate") else "trained"

    def calibrated(self, side: Side, *, reference: bool) -> bool:
        """Return whether the risks of a side are probabilities of an error."""
        return self.method(side, reference=reference) == "trained" or self._curve(side, reference) is not None

    def _curve(self, side: Side, reference: bool) -> RiskCurve | None:
        kind = "reference" if reference and side == "candidate" else "free"
        return getattr(self._beside[kind], side)  # type: ignore[no-any-return]

    def _layers(self, *, reference: bool, source: bool) -> list[int]:
        wanted = {self._beside["reference"].layer} if reference else set()
        if source and self._trained is not None:
            wanted |= {self._trained.vectors, *self._trained.layers}
        elif source:
            wanted.add(self._beside["free"].layer)
        return sorted(wanted)

    def risks(self, rows: Sequence[TextRow], progress: Progress | None = None) -> Iterator[RowRisks]:
        """Yield the risks of each row.

        Args:
            rows: all with references, or all without and with a source.
            progress: called with a phase, rows done and rows in all.

        Raises:
            InputError: for a row with neither reference nor source.
        """
        for number, row in enumerate(rows, start=1):
            if not row.references and row.source is None:
                raise InputError(f"row {number}: has neither reference nor source to hold the candidate against")
        reference, source = any(row.references for row in rows), any(row.source is not None for row in rows)
        self._places = self._layers(reference=reference, source=source)
        view = self._encoders.encoder(self.located).view(self._places)
        self.tokenizer.token_bytes = 8 * len(self._places) * view.dimensions
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            texts = [t for row in block for t in (row.candidate, *row.references, row.source) if t is not None]
            read = read_texts(texts, self.tokenizer, view)
            for row in block:
                yield self._row(row, read)
            if progress is not None:
                progress("explaining", start + len(block), len(rows))

    def _row(self, row: TextRow, read: Mapping[str, ReadText]) -> RowRisks:
        candidate = read[row.candidate]
        source = read[row.source] if row.source is not None else None
        if row.references:
            given = self._beside["reference"]
            of_each = [self._matched(candidate, read[other], given.layer, "candidate") for other in row.references]
            risks = self._called(np.min(of_each, axis=0), candidate, given.candidate)
        elif source is not None:
            risks = self._beside_source(candidate, source, "candidate")
        of_source = None if source is None else self._beside_source(source, candidate, "source")
        cut = any(read[text].cut for text in (row.candidate, *row.references, row.source) if text is not None)
        return RowRisks(risks, of_source, cut)

    def _beside_source(self, text: ReadText, other: ReadText, side: Side) -> Floats:
        if self._trained is None:
            given = self._beside["free"]
            found = self._matched(text, other, given.layer, side)
            return self._called(found, text, given.candidate if side == "candidate" else given.source)
        if not text.words:
            return np.zeros(0)
        layers = [self._places.index(layer) for layer in self._trained.layers]
        features = word_features(text, other, layers)
        inputs = word_inputs(text.vectors[self._places.index(self._trained.vectors)], features)
        found = np.array([network.logits(inputs) for network in self._networks[side]], dtype=np.float64)
        logits: Floats = found.mean(axis=0)
        return self._called(logits, text, getattr(self._trained, side))

    def _matched(self, text: ReadText, other: ReadText, layer: int, side: Side) -> Floats:
        best, _ = best_matches(text, other, self._places.index(layer))
        risks = np.clip(1 - worst_piece(best, text), 0.0, 1.0)
        if side in self._weights:
            risks = risks * np.array([self._weights[side].get(word.casefold(), 1.0) for word in text.words])
        return risks

    @staticmethod
    def _called(values: Floats, text: ReadText, curve: RiskCurve | None) -> Floats:
        """Return values as probabilities, if there is a curve; words that were not seen get the others' mean."""
        if curve is not None:
            values = 1 / (1 + np.exp(-(curve.slope * values + curve.shift)))
        seen = text.seen
        return np.where(seen, values, values[seen].mean() if seen.any() else 0.5) if len(values) else values

    @cached_property
    def _networks(self) -> dict[Side, list[TrainedNetwork]]:
        if self._trained is None:
            return {}
        file = self._encoders.catalog.origins["explainer", self.entry.model].with_name(self._trained.weights)
        if not file.is_file() or file_digest(file) != self._trained.sha256:
            raise RegistryError(f"{file}: is missing, or is not the file that the entry beside it speaks of")
        tensors, _ = load_arrays(file)
        found: dict[Side, list[TrainedNetwork]] = {"candidate": [], "source": []}
        for side, networks in found.items():
            for member in sorted({name.split(".")[1] for name in tensors if name.startswith(f"{side}.")}):
                start = f"{side}.{member}."
                own = {name.removeprefix(start): t for name, t in tensors.items() if name.startswith(start)}
                networks.append(TrainedNetwork(own, str(file)))
        return found

    def signature(self, *, reference: bool, source: bool) -> Signature:
        """Return what the risks were computed with; asked for after `risks`."""
        fields: dict[str, object] = {"model": self.located.identity, "dtype": self._encoders.dtype}
        if reference or self._trained is None:
            kind = "reference" if reference else "free"
            fields["match_layer"] = self._beside[kind].layer
        if source and self._trained is not None:
            fields["networks"] = self._trained.sha256[:12]
        fields["calibrated"] = self.calibrated("candidate", reference=reference)
        fields["idf"] = bool(self._weights)
        fields["tokenizer"] = f"{self.tokenizer.backend}@{self.located.checkpoint.tokenizer_digest[:8]}"
        return Signature.of({"explain": "words", **fields})


def idf_weights(texts: Iterable[str]) -> dict[str, float]:
    """Return how rare each word is among texts, from 0 to 1: log((M + 1) / (df + 1)) / log(M + 1) of M texts.

    Source: Zhang et al. 2020, section 3, with the smoothing of its code; here of words, whatever their case.
    """
    documents = [{word.casefold() for word in text.split()} for text in texts]
    frequency = Counter(word for words in documents for word in words)
    most = math.log(len(documents) + 1)
    return {word: math.log((len(documents) + 1) / (df + 1)) / most for word, df in frequency.items()}
