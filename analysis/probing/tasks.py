"""Probing tasks in files: labelled sentences (two columns, or as SentEval has them) or labelled words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import regex

from bsx.data.lines import NamedFile
from bsx.errors import InputError

# The first word of a text; where words are written without spaces between, the first character.
_FIRST = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]|\S+")
_PARTS = {"tr": "train", "va": "validation", "te": "test"}  # SentEval's names


@dataclass(frozen=True)
class ProbingTask:
    """Items to probe.

    Attributes:
        name: of the task: the file's name up to its first dot.
        sentences: the distinct places an item may stand in: the text of each item, or the words of each sentence.
        tokens: whether the items are words; else they are sentences.
        labels: label of each item (n,).
        groups: what must stay on one side of a split (n,): the item's sentence, so that copies stay together.
        types: type of each item for control tasks (n,): the word form, or the sentence's first word.
        parts: ``train``, ``validation`` or ``test`` of each item (n,), if the file says.
    """

    name: str
    sentences: tuple[tuple[str, ...], ...]
    tokens: bool
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    types: tuple[str, ...]
    parts: tuple[str, ...] | None

    @property
    def ceiling(self) -> float:
        """Accuracy of the best function of the sentence: below 1 if copies of a sentence have different labels.

        Of words it is 1, as a word of a sentence is labelled once.
        """
        if self.tokens:
            return 1.0
        seen: dict[str, Counter[str]] = defaultdict(Counter)
        for text, label in zip(self.groups, self.labels, strict=True):
            seen[text][label] += 1
        return sum(max(counts.values()) for counts in seen.values()) / len(self.labels)

    def sample(self, limit: int, seed: int) -> ProbingTask:
        """Return the task with at most ``limit`` sentences, drawn at random, in the file's order."""
        if limit >= len(self.sentences):
            return self
        drawn = np.random.default_rng(seed).permutation(len(self.sentences))[:limit]
        keep = np.zeros(len(self.sentences), dtype=bool)
        keep[drawn] = True
        lengths = [len(words) if self.tokens else 1 for words in self.sentences]
        task = self.select(np.repeat(keep, lengths).tolist())
        kept = (words for words, chosen in zip(self.sentences, keep, strict=True) if chosen)
        return _checked(replace(task, sentences=tuple(kept)), f"{self.name}, {limit} sentences of it")

    def translating(self, other: ProbingTask) -> ProbingTask:
        """Return the task with the groups of another whose sentences it translates, one by one, in their order.

        Raises:
            InputError: if the numbers of sentences differ.
        """
        if len(self.sentences) != len(other.sentences):
            raise InputError(
                f"{self.name} has {len(self.sentences)} sentences, {other.name} {len(other.sentences)}: those of one "
                "cannot translate those of the other, line by line"
            )
        lengths = [len(words) if self.tokens else 1 for words in self.sentences]
        groups = (" ".join(words) for words in other.sentences)
        repeated = [group for group, length in zip(groups, lengths, strict=True) for _ in range(length)]
        return replace(self, groups=tuple(repeated))

    def select(self, keep: list[bool]) -> ProbingTask:
        """Return the task with the labels, groups, types and parts of some items only (n,)."""

        def some(values: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(value for value, chosen in zip(values, keep, strict=True) if chosen)

        parts = None if self.parts is None else some(self.parts)
        return replace(self, labels=some(self.labels), groups=some(self.groups), types=some(self.types), parts=parts)


def read_sentences(file: NamedFile) -> ProbingTask:
    """Read a task on sentences: ``sentence TAB label``, or SentEval's ``tr|va|te TAB label TAB sentence``.

    Source of the layouts: Conneau et al. 2018 (facebookresearch/SentEval, data/probing).

    Raises:
        InputError: naming the line that is malformed, or if there is nothing to predict.
    """
    parts, labels, texts = [], [], []
    width = 0
    for number, line in enumerate(file.lines(), start=1):
        where = f"{file.name}: line {number}"
        fields = line.split("\t")
        width = width or len(fields)
        if len(fields) not in (2, 3):
            shape = "is empty" if not line.strip() else f"has {len(fields)} columns"
            raise InputError(f"{where} {shape}; write sentence TAB label, or tr|va|te TAB label TAB sentence")
        if len(fields) != width:
            raise InputError(f"{where} has {len(fields)} columns, the lines before it {width}")
        part, label, text = fields if width == 3 else ("", fields[1], fields[0])
        if width == 3 and part not in _PARTS:
            raise InputError(f"{where}: {part!r} is not a part; with three columns the first is tr, va or te")
        if not text.strip() or not label.strip():
            raise InputError(f"{where} has no {'label' if text.strip() else 'sentence'}")
        parts.append(_PARTS.get(part, ""))
        labels.append(label.strip())
        texts.append(text.strip())
    task = ProbingTask(
        name=_name(file),
        sentences=tuple((text,) for text in texts),
        tokens=False,
        labels=tuple(labels),
        groups=tuple(texts),
        types=tuple(_FIRST.findall(text)[0] for text in texts),
        parts=tuple(parts) if width == 3 else None,
    )
    return _checked(task, file.name)


def read_tokens(file: NamedFile) -> ProbingTask:
    """Read a task on words: ``word TAB label`` a line, an empty line between sentences.

    Raises:
        InputError: naming the line that is malformed, or if there is nothing to predict.
    """
    sentences = list(_sentences(file))
    if not sentences:
        raise InputError("has no word", file=file.name)
    words = [word for sentence in sentences for word, _ in sentence]
    joined = [" ".join(word for word, _ in sentence) for sentence in sentences]
    task = ProbingTask(
        name=_name(file),
        sentences=tuple(tuple(word for word, _ in sentence) for sentence in sentences),
        tokens=True,
        labels=tuple(label for sentence in sentences for _, label in sentence),
        groups=tuple(text for text, sentence in zip(joined, sentences, strict=True) for _ in sentence),
        types=tuple(words),
        parts=None,
    )
    return _checked(task, file.name)


def _sentences(file: NamedFile) -> Iterator[list[tuple[str, str]]]:
    sentence: list[tuple[str, str]] = []
    for number, line in enumerate(file.lines(), start=1):
        if not line.strip():
            if sentence:
                yield sentence
            sentence = []
            continue
        fields = line.split("\t")
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise InputError(
                f"{file.name}: line {number} is not word TAB label (an empty line stands between sentences)"
            )
        sentence.append((fields[0].strip(), fields[1].strip()))
    if sentence:
        yield sentence


def _name(file: NamedFile) -> str:
    return file.name.replace("\\", "/").rpartition("/")[2].partition(".")[0]


def _checked(task: ProbingTask, where: str) -> ProbingTask:
    kinds = len(set(task.labels))
    if kinds < 2:
        raise InputError(f"{where}: every item has the label {task.labels[0]!r}: there is nothing to predict")
    if kinds > max(10, len(task.labels) / 2):
        raise InputError(f"{where}: {kinds} different labels for {len(task.labels)} items: are the columns in order?")
    return task
