"""One risk for each word of a candidate, and of its source: the probability that the word is wrong.

By the best match of its pieces in another text, or by trained networks that read the word's vector and its matches.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.catalog.entries.risks import ExplainerEntry, MatchedRisks, RiskCurve
from bsx.encode.rows import normalise
from bsx.encode.session import Encoders
from bsx.encode.shared import LayerView
from bsx.encode.states import encode_texts
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError, RegistryError
from bsx.support.arrays import fetch, within
from bsx.support.progress import Progress
from bsx.support.provenance import file_digest
from bsx.support.signature import Signature
from bsx.support.tensors import load_arrays

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
RiskMethod = Literal["trained", "match"]
Side = Literal["candidate", "source"]
_BLOCK = 64  # rows encoded at once
_OF_A_LAYER = 6
_OF_A_WORD = 10


@dataclass(frozen=True)
class ReadText:
    """One text.

    Attributes:
        words: what stands between white space.
        pieces: unit vectors of the pieces on each layer (layers, pieces, dim); special tokens are left out.
        vectors: mean of each word's pieces as the encoder gives them, on each layer (layers, words, dim); 0 for a word
            without any.
        owner: the word of each piece, by its place (pieces,).
        cut: whether the model's limit cut some of it off.
    """

    words: list[str]
    pieces: NDArray[np.float32]
    vectors: NDArray[np.float32]
    owner: NDArray[np.int64]
    cut: bool

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which words have a piece: not those that were cut off, nor those that the tokenizer drops (words,)."""
        return np.bincount(self.owner, minlength=len(self.words)) > 0


def read_texts(texts: Sequence[str], tokenizer: Tokenizer, view: LayerView) -> dict[str, ReadText]:
    """Encode distinct texts.

    Args:
        texts: the texts; each is encoded once.
        tokenizer: the encoder's tokenizer.
        view: the layers wanted.

    Returns:
        Text -> what is read of it. A text without words has no vectors.
    """
    empty = np.zeros((len(view.layers), 0, view.dimensions), dtype=np.float32)
    read = {text: ReadText([], empty, empty, np.zeros(0, dtype=np.int64), False) for text in texts}
    wanted = [text for text in read if text.split()]
    states = encode_texts(wanted, tokenizer, view)
    view.shared.forget()
    all_vectors = fetch(states.vectors).astype(np.float32, copy=False)
    owners = tokenizer.word_of([text.split() for text in wanted])
    for place, (text, owner) in enumerate(zip(wanted, owners, strict=True)):
        words = text.split()
        start = int(states.offsets[place])
        kept = np.flatnonzero(owner >= 0)
        vectors, owner = all_vectors[:, start + kept], owner[kept]
        means = np.zeros((len(view.layers), len(words), view.dimensions), dtype=np.float32)
        np.add.at(means.swapaxes(0, 1), owner, vectors.swapaxes(0, 1))
        means /= np.maximum(np.bincount(owner, minlength=len(words)), 1).astype(np.float32)[:, None]
        read[text] = ReadText(words, normalise(vectors), means, owner, bool(states.lost[place]))
    return read


def best_matches(text: ReadText, other: ReadText, layer: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the best cosine of each piece with a piece of the other text, and which one that is (pieces,).

    Args:
        text: whose pieces.
        other: the other text; without pieces, every cosine is 0 and every match -1.
        layer: by its place among the layers that were read.
    """
    if not len(other.owner) or not len(text.owner):
        return np.zeros(len(text.owner)), np.full(len(text.owner), -1)
    cosines = within(text.pieces[layer] @ other.pieces[layer].T)
    return cosines.max(axis=1).astype(np.float64), cosines.argmax(axis=1)


def worst_piece(values: Floats, text: ReadText) -> Floats:
    """Return the lowest value among the pieces of each word (words,); NaN for words without pieces."""
    lowest = np.full(len(text.words), np.inf)
    np.minimum.at(lowest, text.owner, values)
    return np.where(text.seen, lowest, np.nan)


def word_features(text: ReadText, other: ReadText, layers: Sequence[int]) -> Floats:
    """Return what is known of each word of a text beside another text (words, features).

    For each layer: the best match of the word's worst piece and the mean of its pieces' best matches, by how much the
    match of the worst piece has a better match elsewhere, how far apart the two stand in their sentences, how far the
    word's vector is ahead of the second best word, and how well its two neighbours match. All of these once more less
    their mean over the sentence, and that mean. Then the word itself: its place, whether the other text has it too,
    lengths, letters, figures, capitals.

    Args:
        text: the text.
        other: its source, or its translation.
        layers: places of the layers to match on.
    """
    words = len(text.words)
    columns: list[Floats] = []
    for layer in layers:
        columns += _of_layer(text, other, layer)
    matched = np.nan_to_num(np.stack(columns, axis=1)) if words else np.zeros((0, _OF_A_LAYER * len(layers)))
    mean = matched.mean(axis=0, keepdims=True) if words else matched
    of_words = [_of_word(word, place, text, other) for place, word in enumerate(text.words)]
    pieces = np.bincount(text.owner, minlength=words)[:, None]
    surface = np.array(of_words, dtype=np.float64).reshape(words, _OF_A_WORD - 1)
    return np.concatenate([matched, matched - mean, np.repeat(mean, words, axis=0), surface, pieces], axis=1)


def _of_layer(text: ReadText, other: ReadText, layer: int) -> list[Floats]:
    words = len(text.words)
    if not words or not other.words:
        return [np.zeros(words)] * _OF_A_LAYER
    best, where = best_matches(text, other, layer)
    back, _ = best_matches(other, text, layer)
    worst = worst_piece(best, text)
    mean = np.bincount(text.owner, best, words) / np.maximum(np.bincount(text.owner, minlength=words), 1)
    elsewhere = np.zeros(words)
    apart = np.zeros(words)
    taken = best <= worst[text.owner]  # the pieces that are their word's worst
    of_worst = text.owner[taken]
    if len(other.owner):
        elsewhere[of_worst] = back[where[taken]] - best[taken]
        apart[of_worst] = np.abs((other.owner[where[taken]] + 0.5) / len(other.words) - (of_worst + 0.5) / words)
    unit = [normalise(side.vectors[layer]) for side in (text, other)]
    two = np.sort(within(unit[0] @ unit[1].T), axis=1)[:, ::-1][:, :2].astype(np.float64)
    ahead = two[:, 0] - two[:, 1] if two.shape[1] == 2 else two[:, 0]
    known = np.nan_to_num(worst)
    beside = np.concatenate([[known.mean()], known, [known.mean()]])
    return [worst, mean, elsewhere, apart, ahead, (beside[:-2] + beside[2:]) / 2]


def _of_word(word: str, place: int, text: ReadText, other: ReadText) -> list[float]:
    lower = word.casefold()
    others = {word_there.casefold() for word_there in other.words}
    kinds = {unicodedata.category(character)[0] for character in word}
    return [
        (place + 0.5) / len(text.words),
        float(lower in others),
        math.log(len(text.words)),
        math.log((len(text.words) + 1) / (len(other.words) + 1)),
        math.log(len(word)),
        float("L" not in kinds and "N" not in kinds),
        float("N" in kinds),
        float(word[0].isupper()),
        float(lower in {word_there.casefold() for word_there in text.words[:place]}),
    ]


class TrainedNetwork:
    """A layer on each word, one on each word with its two neighbours, and a logit.

    Args:
        arrays: what `bsx.risk.network.RiskNetwork` learned, by name.
        name: what to call them in messages.

    Raises:
        InputError: if an array is missing or of another shape.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.floating]], name: str) -> None:
        try:
            self._of = {key: np.asarray(array, dtype=np.float32) for key, array in arrays.items()}
            hidden, inputs = self._of["entrance.weight"].shape
            shapes = {
                **{"centre": (inputs,), "spread": (inputs,), "entrance.bias": (hidden,), "exit.weight": (1, hidden)},
                **{"neighbours.weight": (hidden, hidden, 3), "neighbours.bias": (hidden,), "exit.bias": (1,)},
            }
            wrong = [key for key, shape in shapes.items() if self._of[key].shape != shape]
        except (KeyError, ValueError) as error:
            raise InputError(f"{name}: does not hold the weights of such a network ({error})") from error
        if wrong:
            raise InputError(f"{name}: does not hold the weights of such a network (shape of {', '.join(wrong)})")
        self.inputs = int(inputs)

    def logits(self, x: Floats32) -> Floats32:
        """Return the logit of each word of one text (words,), from its words' inputs (words, inputs)."""
        of = self._of
        hidden = np.maximum((x - of["centre"]) / of["spread"] @ of["entrance.weight"].T + of["entrance.bias"], 0)
        framed = np.pad(hidden, ((1, 1), (0, 0)))  # nothing stands before the first word, nor after the last
        three = np.concatenate([framed[:-2], framed[1:-1], framed[2:]], axis=1)
        weights = np.concatenate(list(np.moveaxis(of["neighbours.weight"], 2, 0)), axis=1)
        beside = np.maximum(three @ weights.T + of["neighbours.bias"], 0)
        logits: Floats32 = ((hidden + beside) @ of["exit.weight"].T + of["exit.bias"])[:, 0]
        return logits


def word_inputs(vectors: Floats32, features: NDArray[np.float64]) -> Floats32:
    """Return what the network takes of each word (words, dim + features): its vector, normalised by itself, first.

    Args:
        vectors: of the words (words, dim).
        features: see `word_features` (words, features).
    """
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    own = centred / (vectors.std(axis=-1, ddof=1, keepdims=True) + np.float32(1e-5))
    return np.concatenate([own, features], axis=-1).astype(np.float32)


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
        entry = encoders.catalog.explainer(known.name) if known is not None else None
        encoders.uses_entry("explainer", self.located.choice.name)
        self.entry = entry if entry is not None else ExplainerEntry(model=self.located.choice.name)
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
            matched = self._matched(text, other, given.layer, side)
            return self._called(matched, text, given.candidate if side == "candidate" else given.source)
        if not text.words:
            return np.zeros(0)
        layers = [self._places.index(layer) for layer in self._trained.layers]
        features = word_features(text, other, layers)
        inputs = word_inputs(text.vectors[self._places.index(self._trained.vectors)], features)
        of_members = np.array([network.logits(inputs) for network in self._networks[side]], dtype=np.float64)
        logits: Floats = of_members.mean(axis=0)
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
            raise RegistryError("is missing, or is not the file that its entry describes", file=file)
        tensors, _ = load_arrays(file)
        loaded: dict[Side, list[TrainedNetwork]] = {"candidate": [], "source": []}
        for side, networks in loaded.items():
            for member in sorted({name.split(".")[1] for name in tensors if name.startswith(f"{side}.")}):
                start = f"{side}.{member}."
                own = {name.removeprefix(start): t for name, t in tensors.items() if name.startswith(start)}
                networks.append(TrainedNetwork(own, str(file)))
        return loaded

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
