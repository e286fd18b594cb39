"""One risk for each word of a candidate, and of its source: higher for a word that is likelier wrong.

By the best match of its pieces in another text, by ranks of match, length and rarity, or by trained networks.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.catalog.entries.models import LanguageEntry
from bsx.catalog.entries.risks import ExplainerEntry, MatchedRisks, PairKind, RiskCurve
from bsx.data.detect import other_script
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
RiskMethod = Literal["trained", "ranks", "match"]
Side = Literal["candidate", "source"]
_BLOCK = 64  # rows encoded at once
_OF_A_LAYER = 6
_OF_A_WORD = 10
_FUNCTION_WORDS = (
    "a an and are as at be by for from had has have he in is it not of on or that the they this to was were which will "
    "with you"
)
_ENGLISH = frozenset(_FUNCTION_WORDS.split())
_SHARE = 0.15  # of the words of English texts are at least such


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


@lru_cache(maxsize=1 << 16)
def bare(word: str) -> str:
    """Return a word as it is counted: in lower case, without the punctuation around it; only punctuation as it is.

    >>> bare("«Haus»,"), bare("...")
    ('haus', '...')
    """
    lower = word.casefold()
    kept = [place for place, character in enumerate(lower) if unicodedata.category(character)[0] not in "PSZ"]
    return lower[kept[0] : kept[-1] + 1] if kept else lower


def rarities(texts: Iterable[str]) -> dict[str, float]:
    """Return how rare each word is: log((N + 1) / (n + 1)), n of the N words of the texts being this word.

    Args:
        texts: of one side and one run; nothing else is counted.
    """
    counts = Counter(bare(word) for text in texts for word in text.split())
    most = counts.total() + 1
    return {word: math.log(most / (count + 1)) for word, count in counts.items()}


def rarity_of(words: Sequence[str], rarity: Mapping[str, float]) -> Floats:
    """Return the rarity of each word (words,); one that was not counted is as rare as the rarest."""
    rarest = max(rarity.values(), default=0.0)
    return np.array([rarity.get(bare(word), rarest) for word in words], dtype=np.float64)


def ranks(values: Floats) -> Floats:
    """Return the share of a text's words that have a lower value, a tie and the word itself counting half (words,)."""
    order = np.sort(values)
    below, up_to = np.searchsorted(order, values, "left"), np.searchsorted(order, values, "right")
    return (below + up_to) / (2 * max(len(values), 1))


def mean_rank(matched: Floats, words: Sequence[str], rarity: Mapping[str, float]) -> Floats:
    """Return the mean of each word's ranks by match, length in characters and rarity, all rounded to nine decimals.

    Args:
        matched: 1 less the best match of each word (words,).
        words: of one text.
        rarity: of the words of its side; see `rarities`.
    """
    known = [np.round(matched, 9), np.array([float(len(word)) for word in words]), rarity_of(words, rarity)]
    return np.mean([ranks(values) for values in known], axis=0) if words else np.zeros(0)


def trained_rank(mean: Floats, logits: Floats) -> Floats:
    """Return the mean rank of words to a third, and their rank by networks, rounded to six decimals, to two thirds."""
    return (mean + 2 * ranks(np.round(logits, 6))) / 3


def written_in(texts: Iterable[str], language: LanguageEntry | None = None) -> str:
    """Return ``en`` for texts that are English by their function words, else the script of most of their letters.

    Args:
        texts: of one side.
        language: which language they are in, if that is known: it says whether they are English.

    >>> written_in(["The cat is on the mat."]), written_in(["Die Katze ist auf der Matte."]), written_in(["बिल्ली"])
    ('en', 'Latn', 'Deva')
    """
    words = [bare(word) for text in texts for word in text.split()]
    script = other_script(" ".join(words), "Latn") or "Latn"
    if language is not None:
        return "en" if language.name.startswith("English") else script
    return "en" if script == "Latn" and sum(word in _ENGLISH for word in words) >= _SHARE * len(words) > 0 else script


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


def rarity_features(words: Sequence[str], rarity: Mapping[str, float]) -> Floats:
    """Return each word's rarity, and by how much it is rarer, and longer, than the mean of its text (words, 3)."""
    rare = rarity_of(words, rarity)
    if not words:
        return np.zeros((0, 3))
    long = np.log([len(word) for word in words])
    return np.stack([rare, rare - rare.mean(), long - long.mean()], axis=1)


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


def word_inputs(vectors: Floats32, features: Floats, rare: Floats) -> Floats32:
    """Return what the network takes of each word (words, dim + features + 3): its vector, normalised by itself, first.

    Args:
        vectors: of the words (words, dim).
        features: see `word_features` (words, features).
        rare: see `rarity_features` (words, 3).
    """
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    own = centred / (vectors.std(axis=-1, ddof=1, keepdims=True) + np.float32(1e-5))
    return np.concatenate([own, features, rare], axis=-1).astype(np.float32)


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
        untrained: side -> name -> what needs no training: ``match``, ``length`` in characters and ``frequency``, whose
            risk is the word's rarity; see `rarities`.
    """

    candidate: Floats
    source: Floats | None
    cut: bool
    untrained: Mapping[Side, Mapping[str, Floats]]


class WordRisks:
    """Tells risks of words from one encoder's vectors.

    A word's risk by ``match`` is 1 less the cosine of its worst piece's best match among the pieces of the other text,
    on one layer: the reference (the best of several), or the source. By ``ranks`` it is the mean of the word's ranks in
    its text by match, by length and by rarity. By ``trained`` it is that to a third, and to two thirds its
    rank by networks, which read the word's vector, its matches on several layers, length and rarity, and its
    neighbours. Beside a reference,
    where the registry has a curve, it is the probability that a person marks the word as an error. A word that the
    encoder does not see, because the model's limit cut it off or the tokenizer drops it, gets the mean of the words
    that it sees.

    Args:
        encoders: with the model.
        model: the encoder; the run's unless given.
        method: ``trained``, ``ranks`` or ``match``; unless given, match beside a reference or with ``layer`` or
            ``weights``, else trained for pairs where the registry says that networks find more than ranks, else ranks.
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
        self._asked = "match" if method is None and plain else method
        self._pair: tuple[str, str] | None = None
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

    @property
    def pair(self) -> tuple[str, str] | None:
        """What sources and candidates are written in (see `written_in`), if there are sources; known after `risks`."""
        return self._pair

    @property
    def languages(self) -> str | None:
        """The pair of languages that the run names, like ``en-de``, if it does."""
        source, target = self._encoders.source, self._encoders.language
        return None if source is None or target is None else f"{source.code}-{target.code}"

    @property
    def kind(self) -> PairKind | None:
        """What the registry says of pairs like this one; None where no pair like it was left out of training."""
        kinds = self.entry.trained.kinds if self.entry.trained is not None else []
        return next((kind for kind in kinds if (kind.source, kind.candidate) == self._pair), None)

    def method(self, side: Side, *, reference: bool) -> RiskMethod:
        """Return how the risks of a side are told; asked for after `risks`."""
        if reference and side == "candidate":
            return "match"
        return self._asked or (self.kind.method(side, self.languages) if self.kind is not None else "ranks")

    def calibrated(self, side: Side, *, reference: bool) -> bool:
        """Return whether the risks of a side are probabilities of an error: beside a reference with a curve only."""
        return reference and side == "candidate" and self._beside["reference"].candidate is not None

    def _layers(self, *, reference: bool, source: bool) -> list[int]:
        wanted = {self._beside["reference"].layer} if reference else set()
        if source:
            wanted.add(self._beside["free"].layer)
            trained = self.entry.trained
            if trained is not None and "trained" in self._methods(reference=reference, source=True):
                wanted |= {trained.vectors, *trained.layers}
        return sorted(wanted)

    def _methods(self, *, reference: bool, source: bool) -> set[RiskMethod]:
        sides: tuple[Side, ...] = ("candidate", "source") if source else ("candidate",)
        return {self.method(side, reference=reference) for side in sides}

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
        texts_of: dict[Side, list[str]] = {
            "candidate": [row.candidate for row in rows],
            "source": [row.source for row in rows if row.source is not None],
        }
        self._rarity = {side: rarities(texts) for side, texts in texts_of.items()}
        if source:
            run = self._encoders
            self._pair = (
                written_in(texts_of["source"], run.source),
                written_in(texts_of["candidate"], run.language),
            )
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
        untrained: dict[Side, Mapping[str, Floats]] = {}
        if row.references:
            given = self._beside["reference"]
            of_each = [self._matched(candidate, read[other], given.layer, "candidate") for other in row.references]
            matched = np.min(of_each, axis=0)
            risks = self._called(matched, candidate, given.candidate)
            untrained["candidate"] = self._untrained(matched, candidate, "candidate")
        elif source is not None:
            risks, untrained["candidate"] = self._beside_source(candidate, source, "candidate")
        of_source = None
        if source is not None:
            of_source, untrained["source"] = self._beside_source(source, candidate, "source")
        cut = any(read[text].cut for text in (row.candidate, *row.references, row.source) if text is not None)
        return RowRisks(risks, of_source, cut, untrained)

    def _beside_source(self, text: ReadText, other: ReadText, side: Side) -> tuple[Floats, Mapping[str, Floats]]:
        matched = self._matched(text, other, self._beside["free"].layer, side)
        untrained = self._untrained(matched, text, side)
        method = self.method(side, reference=False)
        if method == "match" or not text.words:
            return untrained["match"], untrained
        risks = mean_rank(untrained["match"], text.words, self._rarity[side])
        if method == "trained" and self.entry.trained is not None:
            layers = [self._places.index(layer) for layer in self.entry.trained.layers]
            features = word_features(text, other, layers)
            vectors = text.vectors[self._places.index(self.entry.trained.vectors)]
            inputs = word_inputs(vectors, features, rarity_features(text.words, self._rarity[side]))
            logits = np.mean([network.logits(inputs) for network in self._networks[side]], axis=0, dtype=np.float64)
            risks = trained_rank(risks, np.asarray(logits, dtype=np.float64))
        return self._called(risks, text, None), untrained

    def _untrained(self, matched: Floats, text: ReadText, side: Side) -> Mapping[str, Floats]:
        return {
            "match": self._called(matched, text, None),
            "length": np.array([len(word) for word in text.words], dtype=np.float64),
            "frequency": rarity_of(text.words, self._rarity[side]),
        }

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
        trained = self.entry.trained
        if trained is None:
            return {}
        file = self._encoders.catalog.origins["explainer", self.entry.model].with_name(trained.weights)
        if not file.is_file() or file_digest(file) != trained.sha256:
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
        fields: dict[str, object] = {"model": self.located.identity, "dtype": self._encoders.signed_dtype}
        methods = self._methods(reference=reference, source=source)
        if reference or not source:
            fields["match_layer"] = self._beside["reference"].layer
        if source:
            fields["match_layer_of_sources"] = self._beside["free"].layer
            fields["method"] = "+".join(sorted(methods))
        if "trained" in methods and self.entry.trained is not None:
            fields["networks"] = self.entry.trained.sha256[:12]
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
