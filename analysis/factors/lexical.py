"""LEX: how many words two sentences share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bsx.analysis.factors.base import Factor, FactorConfig, FactorScores, Resources, SentencePairs
from bsx.analysis.factors.treebank import treebank_tokens
from bsx.data.lines import NamedFile
from bsx.data.tokenizers import opening
from bsx.data.writing import IMPLIED, SAMPLE, Form, in_form, script_of
from bsx.errors import InputError
from bsx.support.optional import need


def bleu1(reference_tokens: Sequence[str], hypothesis_tokens: Sequence[str]) -> float:
    """Return BLEU-1: clipped unigram precision of the hypothesis times the brevity penalty, from 0 to 1.

    The penalty is 1 if the hypothesis is longer than the reference, else exp(1 - reference length / hypothesis
    length). 0 without a common token.

    Source: Papineni et al. 2002, section 2.2 and 2.3 with N = 1. The text of Kaster, Zhao & Eger 2021 (section 3)
    describes the precision only; their code, and so their published column, has the penalty too.

    >>> round(bleu1("a plane is taking off .".split(), "an air plane is taking off .".split()), 4)
    0.7143
    """
    precision = unigram_precision(reference_tokens, hypothesis_tokens)
    if precision == 0 or len(hypothesis_tokens) > len(reference_tokens):
        return precision
    return precision * math.exp(1 - len(reference_tokens) / len(hypothesis_tokens))


def unigram_precision(reference_tokens: Sequence[str], hypothesis_tokens: Sequence[str]) -> float:
    """Return the clipped unigram precision of the hypothesis, as the paper's text has it: no brevity penalty.

    >>> unigram_precision("a b c d".split(), "a b".split())
    1.0
    """
    shared = (Counter(reference_tokens) & Counter(hypothesis_tokens)).total()
    return shared / len(hypothesis_tokens) if hypothesis_tokens else 0.0


def jaccard(tokens_a: Sequence[str], tokens_b: Sequence[str]) -> float:
    """Return the number of words in both over the number in either; 0 if there are none.

    >>> jaccard("the cat".split(), "the dog".split())
    0.3333333333333333
    """
    a, b = set(tokens_a), set(tokens_b)
    return len(a & b) / len(a | b) if a | b else 0.0


@cache
def tokenizer(name: str) -> Callable[[str], list[str]]:
    """Return a function that cuts a text into words.

    Args:
        name: ``treebank`` (English; see `bsx.analysis.factors.treebank`), ``whitespace``, or one of sacreBLEU's.

    Raises:
        InputError: for another name.
    """
    if name in ("treebank", "whitespace"):
        return treebank_tokens if name == "treebank" else str.split
    bleu = need("sacrebleu.metrics.bleu", "sacreBLEU's tokenizers")
    if name not in bleu.BLEU.TOKENIZERS:
        known = ", ".join(["treebank", "whitespace", *bleu.BLEU.TOKENIZERS])
        raise InputError(f"there is no tokenizer {name!r}; use one of {known}")
    with opening(name, "lex"):
        prepare = bleu._get_tokenizer(name)()
    return lambda text: str(prepare(text)).split()


def default_tokenizer(lang: str, texts: Sequence[str] = ()) -> str:
    """Return the tokenizer for a language: ``treebank`` for English, for others what the registry says.

    English is also what nobody has said: texts in a script that needs a tokenizer of its own have that.
    """
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.languages import find_language, language_code

    catalog = load_registry()
    if language_code(lang) == "en":
        implied = IMPLIED.get(script_of(texts[:SAMPLE]) or "")
        return "treebank" if implied is None else catalog.languages[implied].sacrebleu
    return find_language(lang, catalog).sacrebleu


def read_dictionary(file: Path) -> dict[str, str]:
    """Read a bilingual dictionary, ``word TAB translation`` a line; the first translation of a word counts.

    Raises:
        InputError: naming a line that has no two fields.
    """
    words: dict[str, str] = {}
    for number, line in enumerate(NamedFile(file).lines(), start=1):
        if not line.strip():
            continue
        word, tab, translation = line.partition("\t")
        if not tab or not word.strip():
            raise InputError(f"{file}: line {number} is not 'word TAB translation'")
        words.setdefault(word.strip(), translation.partition("\t")[0].strip())
    return words


class LexicalConfig(FactorConfig):
    """Settings of LEX; the defaults are what the code of Kaster, Zhao & Eger 2021 ran."""

    variant: Annotated[
        Literal["bleu1", "precision", "bleu", "chrf", "jaccard"],
        Field(description="bleu1, its precision alone, sacreBLEU's sentence BLEU or chrF (over 100), or Jaccard."),
    ] = "bleu1"
    tokenize: Annotated[
        str | None, Field(description="treebank, whitespace or one of sacreBLEU's; the language chooses it.")
    ] = None
    lowercase: Annotated[bool, Field(description="Ignore case.")] = False
    reference: Annotated[
        Literal["sentence1", "sentence2"], Field(description="Which side is the reference; the other is scored.")
    ] = "sentence1"
    normalize: Annotated[
        Form, Field(description="Form in which the sentences are compared, as of metrics; none: as they are.")
    ] = "nfc"


class Lexical(Factor[LexicalConfig]):
    """Word overlap. Source: Kaster, Zhao & Eger 2021, section 3; Papineni et al. 2002 for BLEU.

    Across languages, the first sentences are compared in translation: a column of translations, or word by word with a
    dictionary. Nothing is ever sent to a translation service.
    """

    Config = LexicalConfig
    reads = frozenset({"translation", "dictionary"})

    def check(self, pairs: SentencePairs, resources: Resources) -> None:
        """Build the comparison, which finds its tokenizer; see `Factor.check`."""
        self._comparison(self.config.tokenize or default_tokenizer(pairs.lang2))

    def compute(self, pairs: SentencePairs, resources: Resources) -> FactorScores:
        """Score pairs; see `Factor.compute`."""
        config, lang = self.config, pairs.lang2
        name = config.tokenize or default_tokenizer(lang, pairs.sentence2)
        first, origin = self._first(pairs, resources)
        first, second = ([in_form(text, config.normalize) for text in side] for side in (first, pairs.sentence2))
        if config.lowercase:
            first, second = [text.lower() for text in first], [text.lower() for text in second]
        if config.reference == "sentence2":
            first, second = second, first
        compare = self._comparison(name)
        values = np.array([compare(a, b) for a, b in zip(first, second, strict=True)], dtype=np.float64)
        blank = sum(not a.strip() or not b.strip() for a, b in zip(first, second, strict=True))
        notes = [f"lex: {blank} of {len(pairs)} pairs have a blank side; they score 0"] if blank else []
        if config.tokenize is None and name != default_tokenizer(lang):
            notes.append(f"lex: the texts are cut into words by sacreBLEU's tokenizer {name}, as their script asks for")
        details: dict[str, object] = {**config.model_dump(), "tokenize": name, "first_sentences": origin}
        from importlib.metadata import version

        used = ["nltk"] if name == "treebank" and config.variant != "chrf" else []
        used += ["sacrebleu"] if config.variant in ("bleu", "chrf") or name not in ("treebank", "whitespace") else []
        return FactorScores(values, details | {package: version(package) for package in used}, tuple(notes))

    def _first(self, pairs: SentencePairs, resources: Resources) -> tuple[list[str], str]:
        """Return the first sentences in the language of the second ones, and where they are from."""
        if resources.translation is not None:
            texts = [str(cell) if cell is not None else "" for cell in pairs.column(resources.translation)]
            return texts, f"column {resources.translation}"
        if resources.dictionary is not None:
            words = read_dictionary(resources.dictionary)
            cut = tokenizer("13a" if pairs.lang1 == "en" else default_tokenizer(pairs.lang1))
            digest = NamedFile(resources.dictionary).digest()[:12]
            # A word that the dictionary lacks, also in lower case, stays as it is.
            every = ([words.get(word, words.get(word.lower(), word)) for word in cut(text)] for text in pairs.sentence1)
            translated = [" ".join(" ".join(text).split()) for text in every]
            return translated, f"dictionary {resources.dictionary.name} sha256 {digest}"
        if pairs.crosslingual:
            raise InputError(
                f"lex: the first sentences are {pairs.lang1}, the second {pairs.lang2}: name a column of translations "
                f"into {pairs.lang2} (translation) or a word dictionary (dictionary)"
            )
        return list(pairs.sentence1), "as they are"

    def _comparison(self, name: str) -> Callable[[str, str], float]:
        """Return the function (reference, hypothesis) -> score."""
        variant = self.config.variant
        if variant == "chrf":
            chrf = need("sacrebleu.metrics.chrf", "chrF").CHRF()
            return lambda a, b: float(chrf.sentence_score(b, [a]).score) / 100
        cut = tokenizer(name)
        if variant == "bleu":
            bleu = need("sacrebleu.metrics.bleu", "BLEU").BLEU(effective_order=True, tokenize="none")
            return lambda a, b: float(bleu.sentence_score(" ".join(cut(b)), [" ".join(cut(a))]).score) / 100
        compare = {"bleu1": bleu1, "precision": unigram_precision, "jaccard": jaccard}[variant]
        return lambda a, b: compare(cut(a), cut(b))
