"""English words as the Penn Treebank cuts them, as NLTK 3.5 did with its Punkt model, which this does without.

The published LEX columns of Kaster, Zhao & Eger 2021 were computed on the tokens of ``nltk.word_tokenize`` of that
release. Two things are needed to get them again: its rules for quotation marks (later releases changed them, which
moves 1-3 % of the rows), and its sentence splitter, because a full stop is a token of its own only at the end of a
sentence. The splitter's trained model is a download; what stands here instead are rules of our own.
"""

from __future__ import annotations

import functools
import re

from bsx.support.optional import need
from bsx.support.untyped import Untyped

# Abbreviations after which a sentence goes on, without their last full stop. Which ones the trained model knew was
# told by the published scores: it ends a sentence after "Gov.", "No." or "i.e.", but not after these.
_ABBREVIATIONS = (
    "a.m aug bros calif co colo corp d.c dec dr feb fla ft gen inc jan jr lt ltd maj minn mr mrs ms mt n.c "
    "n.j nov oct okla p.m ph.d prof rep sen sep sept sr st u.k u.n u.s vs wash "
)
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())

# Only from the start of a word, for what does not end in a mark from there does from nowhere in it: without the first
# group, a word of n characters is read n times.
_END = re.compile(r"""(?<!\S)\S*?[.?!]["')\]}]*(?=\s)(?:\s+["')\]}]+(?=\s|$))?""")
_MARKED = re.compile(r"\S*[.?!]")


def split_sentences(text: str) -> list[str]:
    """Cut English text into sentences.

    A sentence ends after ``?``, ``!`` or a full stop that space follows, closing quotation marks and brackets
    included; not after an abbreviation or an initial, nor after a number or an ellipsis that a small letter follows.

    >>> split_sentences("Mr. Smith came at 5 p.m. on Monday. He left.")
    ['Mr. Smith came at 5 p.m. on Monday.', 'He left.']
    """
    sentences, start = [], 0
    for mark in _END.finditer(text):
        following = text[mark.end() :].lstrip()
        if following and not _goes_on(mark[0], following[0]):
            sentences.append(text[start : mark.end()].strip())
            start = mark.end()
    rest = text[start:].strip()
    return [*sentences, rest] if rest else sentences


def _goes_on(end: str, following: str) -> bool:
    """Tell whether a sentence goes on after a word that ends in a mark, by the word and the next character."""
    marked = _MARKED.match(end)
    if marked is None or not marked[0].endswith("."):
        return False
    word = marked[0][:-1].lower().lstrip("\"'([{`").rpartition("-")[2]
    if word in ABBREVIATIONS or (len(word) == 1 and word.isalpha()):
        return True
    number_or_ellipsis = word.endswith(".") or re.fullmatch(r"[\d.,]+", word) is not None
    return number_or_ellipsis and not following.isupper()


@functools.cache
def _words() -> Untyped:
    """Return NLTK's word tokenizer with the rules for quotation marks that it had in release 3.5."""
    base = need("nltk.tokenize.destructive", "Treebank tokens").NLTKWordTokenizer
    opening = (re.compile(r"(?i)(')(?!re|ve|ll|m|t|s|d|n)(\w)\b"), r"\1 \2")
    double = [(re.compile('"'), " '' "), (re.compile(r"(\S)('')"), r"\1 \2 ")]
    tokenizer = base()
    tokenizer.STARTING_QUOTES = [*base.STARTING_QUOTES[:4], opening]
    tokenizer.ENDING_QUOTES = [base.ENDING_QUOTES[0], *double, *base.ENDING_QUOTES[-2:]]
    return tokenizer


def treebank_tokens(text: str) -> list[str]:
    """Return the Treebank tokens of a text, sentence by sentence.

    Raises:
        MissingExtraError: if NLTK is not installed.

    >>> treebank_tokens("He didn't go. She did.")
    ['He', 'did', "n't", 'go', '.', 'She', 'did', '.']
    """
    tokenizer = _words()
    return [token for sentence in split_sentences(text) for token in tokenizer.tokenize(sentence)]
