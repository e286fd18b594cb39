"""The program that parses, stanza, which is imported when the first text is parsed."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from bsx.analysis.factors.base import Resources
from bsx.analysis.factors.parses import Parse, ParseCache
from bsx.errors import InputError, ModelUnavailableError
from bsx.support.environment import forbidden
from bsx.support.folders import cache_folder
from bsx.support.optional import need
from bsx.support.untyped import Untyped

Task = Literal["parse", "tag"]
_AT_FIRST, _AT_ONCE, _SECONDS = 32, 500, 10
# The files of a pipeline trained by hand, kept in one folder.
_LOCAL = {"tokenize": "tokenizer.pt", "mwt": "mwt.pt", "pos": "tagger.pt", "depparse": "parser.pt"}
_PRETRAIN = "pretrain.pt"


class StanzaParser:
    """Stanza (Qi et al. 2020), one sentence a text.

    The folder holds either stanza's own tree of models (``resources.json`` and a folder a language) or the files of one
    pipeline: tokenizer.pt, mwt.pt, tagger.pt, parser.pt, pretrain.pt. Without one, stanza's usual place is used, and
    bsx's cache for what is not there.

    Args:
        lang: language of the texts.
        task: ``parse`` for heads and tags, ``tag`` for tags alone, which is quicker.
        pretokenized: words are what white space separates; else the parser cuts the text itself.
        folder: where its model is.
        download: let it fetch its model.
    """

    def __init__(
        self, lang: str, task: Task, *, pretokenized: bool, folder: Path | None = None, download: bool = False
    ) -> None:
        from bsx.catalog.languages import language_code

        self.lang, self.task, self.pretokenized = language_code(lang), task, pretokenized
        self.folder, self.download = folder, download

    @property
    def identity(self) -> dict[str, object]:
        """Everything that changes a parse."""
        whole = hashlib.sha256()
        for file in self._files():
            with file.open("rb") as stream:
                whole.update(file.name.encode() + hashlib.file_digest(stream, "sha256").digest())
        settings = {"lang": self.lang, "task": self.task, "pretokenized": self.pretokenized}
        model = {"parser": "stanza", "version": version("stanza"), "code": self._code, "models": whole.hexdigest()[:12]}
        return {**settings, **model}

    def __call__(self, texts: Sequence[str]) -> Iterator[list[Parse | None]]:
        """Yield the parses of texts in order, some at a time; None for a text without content."""
        at, size = 0, _AT_FIRST
        while at < len(texts):
            some = texts[at : at + size]
            began = time.monotonic()
            parsed = iter(self._parse([text for text in some if text.strip()]))
            yield [next(parsed) if text.strip() else None for text in some]
            at += len(some)
            # As many as take some seconds, so that what is done can be kept that often.
            spent = max(time.monotonic() - began, 1e-3)
            size = max(1, min(_AT_ONCE, 4 * size, int(size * _SECONDS / spent)))

    @cached_property
    def _code(self) -> str:
        from bsx.catalog.catalog import load_registry
        from bsx.catalog.languages import find_language

        code = find_language(self.lang, load_registry()).stanza
        if code is None:
            raise InputError(
                f"stanza has no parser for {self.lang}: parse the sentences with another one and give the parses as "
                "CoNLL-U (parses1, parses2)"
            )
        return code

    @cached_property
    def _place(self) -> Path:
        if self.folder is not None:
            if not self.folder.is_dir():
                raise InputError("there is no such folder of stanza models", file=self.folder)
            return self.folder
        usual = Path(importlib.import_module("stanza.resources.common").DEFAULT_MODEL_DIR)
        cached = cache_folder() / "stanza"  # what bsx fetches does not go among the files of another package
        if "STANZA_RESOURCES_DIR" in os.environ or any((usual / self._code).glob("**/*.pt")):
            return usual
        return cached if self.download or any((cached / self._code).glob("**/*.pt")) else usual

    @property
    def _by_hand(self) -> bool:
        return (self._place / _LOCAL["pos"]).is_file()

    def check(self) -> None:
        """Look for package and model without loading what is slow to load.

        Raises:
            MissingExtraError: if the package is missing.
            ModelUnavailableError: if the model is; says how to get it.
        """
        self._files()

    def _files(self) -> list[Path]:
        """Return the model's files, or say how to get them: errors as of `check`."""
        need("stanza", "Parsing")
        if self._by_hand:
            names = [_LOCAL["pos"], _PRETRAIN]
            names += [_LOCAL["depparse"]] if self.task == "parse" else []
            names += [] if self.pretokenized else [_LOCAL["tokenize"]]
            missing = [name for name in names if not (self._place / name).is_file()]
            if missing:
                raise ModelUnavailableError(f"{self._place}: the pipeline lacks {', '.join(missing)}")
            if not self.pretokenized and (self._place / _LOCAL["mwt"]).is_file():
                names.append(_LOCAL["mwt"])
            return [self._place / name for name in names]
        files = sorted((self._place / self._code).glob("**/*.pt"))
        why = forbidden()
        if not files and (why is not None or not self.download):
            raise ModelUnavailableError(
                f"there is no stanza model for {self.lang} in {self._place}{f', and {why}' if why else ''}: "
                f"python -c 'import stanza; stanza.download(\"{self._code}\")' fetches it (or download does); "
                "parser_dir names another folder, parses1 and parses2 give parses that you have"
            )
        return files

    @cached_property
    def _pipeline(self) -> Untyped:
        stanza = need("stanza", "Parsing")
        self._files()
        processors = ["tokenize", "pos"] + (["lemma", "depparse"] if self.task == "parse" else [])
        as_they_are = "tokenize_pretokenized" if self.pretokenized else "tokenize_no_ssplit"
        settings: dict[str, object] = {as_they_are: True}
        if self._by_hand:
            place = self._place
            if not self.pretokenized:
                settings["tokenize_model_path"] = str(place / _LOCAL["tokenize"])
                if (place / _LOCAL["mwt"]).is_file():
                    processors.insert(1, "mwt")
                    settings["mwt_model_path"] = str(place / _LOCAL["mwt"])
            for step in ("pos", "depparse") if self.task == "parse" else ("pos",):
                settings[f"{step}_model_path"] = str(place / _LOCAL[step])
                settings[f"{step}_pretrain_path"] = str(place / _PRETRAIN)
            settings |= {"lemma_use_identity": True, "allow_unknown_language": True}
        settings["processors"] = ",".join(processors)
        fetch = "REUSE_RESOURCES" if self.download and not self._by_hand and forbidden() is None else "NONE"
        method = importlib.import_module("stanza.pipeline.core").DownloadMethod[fetch]
        with _quiet():
            made = stanza.Pipeline(self._code, dir=str(self._place), download_method=method, verbose=False, **settings)
        if self._by_hand:
            self._check_language(str(made.processors["pos"].trainer.args.get("lang") or self._code))
        return made

    def _check_language(self, language: str) -> None:
        """Refuse a pipeline trained for another language, which would parse without complaint."""
        if language.partition("_")[0] != self._code.partition("-")[0]:
            raise InputError(
                f"{self._place}: was trained for the language {language!r}, the texts are in {self.lang!r}: parser_dir "
                "names the folder of one for them"
            )

    def _parse(self, texts: Sequence[str]) -> list[Parse]:
        if not texts:
            return []
        with _quiet():
            if self.pretokenized:
                parsed = [[sentence] for sentence in self._pipeline([text.split() for text in texts]).sentences]
            else:
                document = importlib.import_module("stanza.models.common.doc").Document
                whole = self._pipeline.bulk_process([document([], text=" ".join(text.split())) for text in texts])
                parsed = [of_text.sentences for of_text in whole]
        return [Parse.joined([self._sentence(sentence.words) for sentence in sentences]) for sentences in parsed]

    def _sentence(self, words: Sequence[Untyped]) -> Parse:
        upos, feats, deprels = (
            tuple(getattr(word, field) or "" for word in words) for field in ("upos", "feats", "deprel")
        )
        heads = tuple(int(word.head) for word in words) if self.task == "parse" else ()
        return Parse(tuple(word.text for word in words), heads, upos, feats, deprels if heads else ())


def parser_of(resources: Resources, lang: str, task: Task, *, pretokenized: bool) -> StanzaParser:
    """Return the parser of texts in a language; resources say where its model is, and whether to fetch one."""
    folder, download = resources.parser_dir, resources.download
    return StanzaParser(lang, task, pretokenized=pretokenized, folder=folder, download=download)


def parse_texts(
    texts: Sequence[str], parser: StanzaParser, resources: Resources, phase: str
) -> tuple[list[Parse | None], dict[str, object]]:
    """Return a parse of each text, from the cache or else from the parser, and its identity."""
    identity = parser.identity
    cache = ParseCache(resources.cache, identity)
    return cache.parse(texts, parser, lambda done, total: resources.report(phase, done, total)), identity


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep stanza's log of its loading from standard error."""
    logger = logging.getLogger("stanza")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
