"""MOR: how alike the word forms of two sentences are, by word vectors retrofitted to a morphological lexicon."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.analysis.factors.base import Factor, FactorConfig, FactorScores, Resources, SentencePairs, Values
from bsx.analysis.factors.lexical import default_tokenizer, tokenizer
from bsx.analysis.factors.lexicon import Lexicon, Token, as_lexicon, build_lexicon, feature_overlap, read_lexicon
from bsx.analysis.factors.parsers import parse_texts, parser_of
from bsx.analysis.factors.parses import Parse, match_parses
from bsx.analysis.factors.retrofitting import retrofit, retrofit_fixed_point
from bsx.analysis.factors.vectors import normalise_vectors, read_vectors, train_vectors, write_vectors
from bsx.data.lines import NamedFile
from bsx.errors import ModelUnavailableError
from bsx.support.optional import need


def mor(tokens_a: Sequence[str], tokens_b: Sequence[str], vectors: Mapping[str, NDArray[np.floating]]) -> float:
    """Return the cosine of the mean vectors of two sentences; NaN if one has no word with a vector.

    Args:
        tokens_a: words; looked up in lower case, those without a vector are passed over.
        tokens_b: words of the other sentence.
        vectors: lower-cased word -> vector (d,).
    """
    return float(mor_scores([tokens_a], [tokens_b], vectors)[0])


def mor_scores(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], vectors: Mapping[str, NDArray[np.floating]]
) -> Values:
    """Return `mor` of many pairs (n,)."""
    sparse = need("scipy.sparse", "MOR")
    index = {word: row for row, word in enumerate(vectors)}
    matrix = np.array(list(vectors.values()), dtype=np.float64)

    def sums(texts: Sequence[Sequence[str]]) -> Values:
        """Return the sum of each text's vectors, which points where their mean does (n, d)."""
        rows, columns = [], []
        for row, tokens in enumerate(texts):
            for token in tokens:
                if (column := index.get(token.lower())) is not None:
                    rows.append(row)
                    columns.append(column)
        counts = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(texts), len(index)))
        return np.asarray(counts @ matrix, dtype=np.float64)

    left, right = sums(first), sums(second)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = (left * right).sum(1) / (np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1))
    return np.asarray(np.clip(cosines, -1.0, 1.0))


class MorphologyConfig(FactorConfig):
    """Settings of MOR; the defaults are what Kaster, Zhao & Eger 2021 ran, a pair without vectors apart."""

    tokenize: Annotated[
        str | None, Field(description="treebank, whitespace or one of sacreBLEU's; the language chooses it.")
    ] = None
    retrofitting: Annotated[
        Literal["sweeps", "fixed-point", "none"],
        Field(description="sweeps in place as in the original tool, what they converge to, or plain vectors."),
    ] = "sweeps"
    iterations: Annotated[int, Field(ge=0, le=10_000, description="Number of sweeps.")] = 10
    draws: Annotated[int, Field(ge=1, le=10**9, description="Tokens looked through for a neighbour of each token.")] = (
        5000
    )
    min_overlap: Annotated[
        float, Field(ge=0, le=1, description="Least share of tokens whose features occur again; else it is excluded.")
    ] = 0.2
    failure: Annotated[
        Literal["nan", "zero"], Field(description="Score of a pair of which one side has no vector; the paper has 0.")
    ] = "nan"


class Morphology(Factor[MorphologyConfig]):
    """Similarity of word forms. Source: Kaster, Zhao & Eger 2021, section 3; Faruqui et al. 2015.

    Across languages, words of one language are joined with words of the other that have the same features, and both
    need vectors of one space: trained on the sentences of both sides, or a file that holds both languages.
    """

    Config = MorphologyConfig
    reads = frozenset(
        {"parses1", "parses2", "parser_dir", "download", "cache", "vectors", "train_vectors", "lexicon", "seed"}
    )

    def check(self, pairs: SentencePairs, resources: Resources) -> None:
        """Look for vectors, or for what trains them, and for the tagger; see `Factor.check`."""
        if resources.vectors is None and not resources.train_vectors:
            raise ModelUnavailableError(
                "mor: needs word vectors: vectors names a .vec or .bin file, train_vectors trains them"
            )
        if resources.vectors is None:
            need("fasttext", "training word vectors")
        elif resources.vectors.suffix == ".bin":
            need("fasttext", "Reading fastText's .bin files")
        for file in (resources.vectors, resources.lexicon):
            if file is not None and not file.exists():
                NamedFile(file)  # says so
        if self.config.retrofitting == "none":
            return
        need("scipy.sparse", "MOR")
        for lang, parses in ((pairs.lang1, resources.parses1), (pairs.lang2, resources.parses2)):
            if parses is None and resources.lexicon is None:
                parser_of(resources, lang, "tag", pretokenized=True).check()

    def compute(self, pairs: SentencePairs, resources: Resources) -> FactorScores:
        """Score pairs; see `Factor.compute`."""
        config = self.config
        details: dict[str, object] = config.model_dump() | {"seed": resources.seed}
        parsed: list[list[Parse] | None] = []
        texts: list[list[list[str]]] = []
        sides = ((pairs.sentence1, pairs.lang1, resources.parses1), (pairs.sentence2, pairs.lang2, resources.parses2))
        for number, (side, lang, file) in enumerate(sides, start=1):
            given = match_parses(file, side, f"sentence{number}") if file is not None else None
            parsed.append(given)
            if given is not None and config.tokenize is None:
                texts.append([list(parse.words) for parse in given])
            else:
                cut = tokenizer(config.tokenize or default_tokenizer(lang))
                texts.append([cut(text) for text in side])
        lexicon: Lexicon = {}
        if config.retrofitting != "none":
            lexicon, overlap, origin = self._lexicon(pairs, resources, texts, parsed)
            details["lexicon"] = origin
            if overlap is not None and overlap < config.min_overlap:
                reason = (
                    f"mor: only {overlap:.1%} of the tokens have features that occur again"
                    f"{' in the other language' if pairs.crosslingual else ''} (at least {config.min_overlap:.0%} "
                    "wanted, mor:min_overlap): the factor is left out"
                )
                return FactorScores(np.full(len(pairs), np.nan), details | {"overlap": overlap}, (reason,), reason)
        vectors, source = self._vectors(texts, lexicon, resources)
        details["vectors"] = source
        moved = normalise_vectors(vectors)
        if config.retrofitting == "sweeps":
            moved = retrofit(moved, lexicon, config.iterations)
        elif config.retrofitting == "fixed-point":
            moved = retrofit_fixed_point(moved, lexicon)
        values = mor_scores(texts[0], texts[1], moved)
        tokens = [token.lower() for side in texts for text in side for token in text]
        known = sum(token in moved for token in tokens) / max(1, len(tokens))
        missing = int(np.isnan(values).sum())
        if config.failure == "zero":
            values = np.nan_to_num(values, nan=0.0)
        details |= {"words": len(moved), "covered_tokens": round(known, 4), "failures": missing}
        details["moved_words"] = sum(any(o in moved for o in others) for w, others in lexicon.items() if w in moved)
        notes = []
        if known < 0.5:
            notes.append(f"mor: only {known:.0%} of the tokens have a vector")
        if missing:
            score = "0" if config.failure == "zero" else "NaN"
            notes.append(f"mor: {missing} of {len(pairs)} pairs have a side without any vector; they score {score}")
        return FactorScores(values, details, tuple(notes))

    def _lexicon(
        self,
        pairs: SentencePairs,
        resources: Resources,
        texts: Sequence[Sequence[Sequence[str]]],
        parsed: Sequence[list[Parse] | None],
    ) -> tuple[Lexicon, float | None, dict[str, object]]:
        """Return the lexicon, how far the sides' features overlap (if it was built), and where it is from."""
        config = self.config
        if resources.lexicon is not None:
            lexicon = read_lexicon(resources.lexicon)
            return lexicon, None, {"file": resources.lexicon.name, "sha256": NamedFile(resources.lexicon).digest()[:12]}
        tagged: list[list[Token]] = []
        taggers: list[object] = []
        for number, (side, lang, given) in enumerate(
            zip(texts, (pairs.lang1, pairs.lang2), parsed, strict=True), start=1
        ):
            parses: Sequence[Parse | None] = given or ()
            tagger: object = "the CoNLL-U file"
            if given is None:
                joined = [" ".join("".join(token.split()) for token in tokens) for tokens in side]
                parser = parser_of(resources, lang, "tag", pretokenized=True)
                parses, tagger = parse_texts(joined, parser, resources, f"tagging sentence{number}")
            taggers.append(tagger)
            tagged.append([token for parse in parses if parse for token in zip(parse.words, parse.feats, strict=True)])
        origin: dict[str, object] = {"tags": taggers, "draws": config.draws, "seed": resources.seed}
        # The English words are moved, as in the paper; without English, those of the second side.
        move = 0 if pairs.lang1 == "en" else 1
        moved, others = (tagged[move], tagged[1 - move]) if pairs.crosslingual else ([*tagged[0], *tagged[1]], None)
        lines = build_lexicon(moved, others, seed=resources.seed, draws=config.draws)
        origin["pairs"] = len(lines)
        if pairs.crosslingual:
            origin["moved_side"] = f"sentence{move + 1}"
        return as_lexicon(lines), feature_overlap(moved, others), origin

    def _vectors(
        self, texts: Sequence[Sequence[Sequence[str]]], lexicon: Lexicon, resources: Resources
    ) -> tuple[Mapping[str, NDArray[np.floating]], dict[str, str]]:
        """Return the words' vectors and where they are from."""
        if resources.vectors is not None:
            wanted = {token.lower() for side in texts for text in side for token in text}
            wanted |= {word for line in lexicon.items() for word in (line[0], *line[1])}
            origin = {"file": resources.vectors.name, "sha256": NamedFile(resources.vectors).digest()[:12]}
            return read_vectors(resources.vectors, wanted), origin
        corpus = [list(text) for side in texts for text in side]
        spelled = json.dumps(corpus, ensure_ascii=False)
        digest = hashlib.sha256(spelled.encode()).hexdigest()[:16]
        origin = {"trained_on": f"the {len(corpus)} sentences", "sha256": digest[:12]}
        file = Path(resources.cache) / f"vectors-{digest}.vec" if resources.cache is not None else None
        if file is not None and file.exists():
            return read_vectors(file), origin
        resources.report("training word vectors", 0, 0)
        trained = train_vectors(corpus)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_vectors(file, trained, internal=True)
        return trained, origin
