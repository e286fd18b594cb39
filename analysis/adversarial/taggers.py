"""Finding the nouns of texts: with a parser of bsx, from parses in a file, or as the paper did, with NLTK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bsx.analysis.adversarial.build_triples import Tagged, Tagger
from bsx.analysis.factors.parsers import make_parser
from bsx.analysis.factors.parses import Parse, match_parses
from bsx.analysis.factors.treebank import treebank_tokens
from bsx.errors import ModelUnavailableError
from bsx.support.optional import need


def stanza_tagger(lang: str = "en", *, folder: Path | None = None, download: bool = False) -> Tagger:
    """Return a tagger that takes the words stanza tags ``NOUN`` (common nouns, singular or plural).

    Args:
        lang: language of the texts.
        folder: where stanza's model is; its usual place unless given.
        download: let stanza fetch the model.
    """
    parser = make_parser("stanza", lang, "tag", pretokenized=False, folder=folder, download=download)

    def tag(texts: Sequence[str]) -> Iterator[Tagged | None]:
        for some in parser(texts):
            yield from map(_nouns, some)

    return tag


def conllu_tagger(file: Path) -> Tagger:
    """Return a tagger that reads words and the tag ``NOUN`` from parses of the same texts in the same order."""

    def tag(texts: Sequence[str]) -> Iterator[Tagged | None]:
        return map(_nouns, match_parses(file, texts, "the anchors"))

    return tag


def nltk_tagger() -> Tagger:
    """Return the tagger of the published triples: NLTK's averaged perceptron, nouns tagged exactly ``NN``.

    Words are those of NLTK 3.5 (`bsx.analysis.factors.treebank`). English only.

    Raises:
        ModelUnavailableError: when called, if NLTK's model is not on this machine; says how to get it.
    """

    def tag(texts: Sequence[str]) -> Iterator[Tagged | None]:
        pos_tag = need("nltk", "NLTK's tagger").pos_tag
        for text in texts:
            words = treebank_tokens(text)
            try:
                tags = [name for _, name in pos_tag(words)]
            except LookupError as error:
                raise ModelUnavailableError(
                    "NLTK's tagger has no model here: python -m nltk.downloader averaged_perceptron_tagger_eng fetches "
                    "it; or tag with stanza"
                ) from error
            yield Tagged(words, [i for i, name in enumerate(tags) if name == "NN"]) if words else None

    return tag


def _nouns(parse: Parse | None) -> Tagged | None:
    if parse is None:
        return None
    return Tagged(parse.words, [i for i, tag in enumerate(parse.upos) if tag == "NOUN"])
