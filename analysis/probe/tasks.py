"""Probing tasks in files: labelled sentences (two columns, or as SentEval has them), labelled words, treebanks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress

import numpy as np
import regex

from bsx.analysis.factors.parses import Sentence, read_conllu
from bsx.data.lines import NamedFile
from bsx.errors import InputError

# The first word of a text; where words are written without spaces between, the first character.
_FIRST = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]|\S+")
_LABELS = ("upos", "xpos", "deprel", "head-distance", "depth")
_FEATURE = regex.compile(r"[A-Z][A-Za-z0-9]*(\[[a-z0-9]+\])?")
_FAR = 5  # a head this far away or farther, and a word this deep in its tree or deeper, share a label
_PARTS = {"tr": "train", "va": "validation", "te": "test"}  # SentEval's names


@dataclass(frozen=True)
class ProbingTask:
    """Items to probe.

    Attributes:
        name: of the task: the file's name up to its first dot; of a treebank with a colon and the label's name.
        sentences: the distinct places an item may stand in: the text of each item, or the words of each sentence.
        tokens: whether the items are words; else they are sentences.
        labels: label of each item (n,); empty text for a word that is read in its sentence, but has none.
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

    @property
    def _items(self) -> list[int]:
        """How many items each sentence has."""
        return [len(words) if self.tokens else 1 for words in self.sentences]

    def sample(self, limit: int, seed: int) -> ProbingTask:
        """Return the task with at most ``limit`` sentences, drawn at random, in the file's order."""
        if limit >= len(self.sentences):
            return self
        drawn = np.random.default_rng(seed).permutation(len(self.sentences))[:limit]
        keep = np.zeros(len(self.sentences), dtype=bool)
        keep[drawn] = True
        task = self.select(np.repeat(keep, self._items).tolist())
        kept = tuple(compress(self.sentences, keep))
        return _checked(replace(task, sentences=kept), f"{self.name}, {limit} sentences of it")

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
        groups = (" ".join(words) for words in other.sentences)
        repeated = (group for group, items in zip(groups, self._items, strict=True) for _ in range(items))
        return replace(self, groups=tuple(repeated))

    def select(self, keep: list[bool]) -> ProbingTask:
        """Return the task with the labels, groups, types and parts of some items only (n,)."""
        labels, groups, types = (tuple(compress(of, keep)) for of in (self.labels, self.groups, self.types))
        parts = self.parts and tuple(compress(self.parts, keep))
        return replace(self, labels=labels, groups=groups, types=types, parts=parts)


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
    words: list[tuple[str, ...]] = []
    labels, sentence = [], list[str]()
    for number, line in enumerate(chain(file.lines(), [""]), start=1):
        if not line.strip():
            words += [tuple(sentence)] if sentence else []
            sentence = []
            continue
        fields = line.split("\t")
        if len(fields) != 2 or not all(field.strip() for field in fields):
            wrong = f"line {number} is not word TAB label (an empty line stands between sentences)"
            raise InputError(f"{file.name}: {wrong}")
        sentence.append(fields[0].strip())
        labels.append(fields[1].strip())
    if not words:
        raise InputError("has no word", file=file.name)
    return _checked(_of_words(_name(file), words, labels), file.name)


def is_treebank(file: str) -> bool:
    """Return whether a file is CoNLL-U by its name, ``.conllu`` or ``.conllu.gz``."""
    return file.lower().removesuffix(".gz").endswith(".conllu")


def check_label(label: str) -> str:
    """Return the name of a label that words of a treebank have; a feature's begins with a capital letter.

    Raises:
        ValueError: for any other name.
    """
    if label not in _LABELS and not _FEATURE.fullmatch(label):
        known = ", ".join(_LABELS)
        raise ValueError(f"{label!r} is no label of CoNLL-U: write {known}, or a feature such as Number")
    return label


def read_treebank(file: NamedFile, labels: Sequence[str]) -> list[ProbingTask]:
    """Read tasks on the words of a CoNLL-U file, one a label.

    Words are syntactic words: those in a multiword token (*zum*: *zu*, *dem*) are read apart, and empty nodes are left
    out. A word that has no such label is read in its sentence and has an empty one. Labels are ``upos``, ``xpos``,
    ``deprel`` (without subtypes, so that *acl:relcl* is *acl*), ``head-distance`` (*root*, or how many words its head
    follows it by, -5 to 5), ``depth`` in the tree (1 to 5), and names of features.

    Raises:
        InputError: naming the line that is malformed, or if there is nothing to predict.
    """
    sentences = read_conllu(file.path)
    words = [sentence.parse.words for sentence in sentences]
    tasks = []
    for label in labels:
        values = [value for sentence in sentences for value in _labels(file, sentence, label)]
        if not any(values):
            parts = (part for sentence in sentences for feats in sentence.parse.feats for part in feats.split("|"))
            features = sorted({part.partition("=")[0] for part in parts if part})
            raise InputError(
                f"no word has the label {label!r}; features: {', '.join(features) or 'none'}", file=file.name
            )
        task = _of_words(f"{_name(file)}:{label}", words, values)
        tasks.append(_checked(task, f"{file.name}, {label}"))
    return tasks


def _labels(file: NamedFile, sentence: Sentence, label: str) -> Sequence[str]:
    parse = sentence.parse
    match label:
        case "upos":
            return parse.upos
        case "xpos":
            return sentence.xpos
        case "deprel":
            return [relation.partition(":")[0] for relation in parse.deprels]
        case "head-distance":
            return [str(min(_FAR, max(-_FAR, head - at))) if head else "root" for at, head in enumerate(parse.heads, 1)]
        case "depth":
            return [str(min(_FAR, _depth(file, sentence, at))) for at in range(1, len(parse.heads) + 1)]
    features = (dict(part.split("=", 1) for part in feats.split("|") if part) for feats in parse.feats)
    return [values.get(label, "") for values in features]


def _depth(file: NamedFile, sentence: Sentence, place: int) -> int:
    steps = 0
    while place:
        place, steps = sentence.parse.heads[place - 1], steps + 1
        if steps > len(sentence.parse.heads):
            raise InputError("the heads of this sentence run in a circle", file=file.name, line=sentence.line)
    return steps


def _of_words(name: str, sentences: Sequence[tuple[str, ...]], labels: Sequence[str]) -> ProbingTask:
    return ProbingTask(
        name=name,
        sentences=tuple(sentences),
        tokens=True,
        labels=tuple(labels),
        groups=tuple(" ".join(words) for words in sentences for _ in words),
        types=tuple(word for words in sentences for word in words),
        parts=None,
    )


def _name(file: NamedFile) -> str:
    return file.name.replace("\\", "/").rpartition("/")[2].partition(".")[0]


def _checked(task: ProbingTask, where: str) -> ProbingTask:
    labels = [label for label in task.labels if label]
    kinds = len(set(labels))
    if not labels:
        raise InputError(f"{where}: no item has a label")
    if kinds < 2:
        raise InputError(f"{where}: every item has the label {labels[0]!r}: there is nothing to predict")
    if kinds > max(10, len(labels) / 2):
        raise InputError(f"{where}: {kinds} different labels for {len(labels)} items: are the columns in order?")
    return task
