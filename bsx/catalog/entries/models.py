"""Entries of encoders: families, where their files come from, languages that they score, baselines."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from bsx.catalog.entries import Code, Entry, Evidence, Listed, Sha256

FamilyKind = Literal["encoder", "encoder-decoder", "decoder"]


class Family(Entry):
    """How encoders of one architecture (`model_type` of transformers) are loaded and cut at a layer."""

    layer_count: str = "num_hidden_layers"
    model_class: str = "AutoModel"
    encoder: str | None = None
    final_norm: str | None = None
    position_count: str = "max_position_embeddings"
    position_offset: int = 0
    fewest_layers: int = 0
    padding: bool = True
    causal: bool = False
    whole: bool = False
    embedding: bool = True
    settings: dict[str, str | int | bool] = {}
    computed: list[str] = []

    @property
    def kind(self) -> FamilyKind:
        """Whether it is an encoder alone, part of an encoder-decoder, whose decoder is not run, or a decoder."""
        if self.causal:
            return "decoder"
        return "encoder-decoder" if self.encoder == "encoder" else "encoder"


class Conversion(Entry):
    """How a package's file becomes files that transformers reads, on first use, in the user's cache.

    ``name`` says which converter of `bsx.models.conversion` does it; ``file`` is the file, of the package's
    ``version``, with its ``sha256``; ``tokenizer`` is the digest of the tokenizer that comes out.
    """

    name: Literal["e5s1"]
    file: str
    version: str
    sha256: Sha256
    tokenizer: Sha256


class Source(Entry):
    """Where a model's files come from: exactly one of a hub, an installed Python package, or a local folder.

    ``sha256`` is the digest of the weights, after their conversion if there is a ``convert``, and ``config`` that of
    what ``config.json`` says, see `bsx.models.files.config_digest`.
    """

    hub: str | None = None
    revision: str | None = None
    package: str | None = None
    folder: str | None = None
    extra: str | None = None
    path: str | None = None
    sha256: Sha256 | None = None
    config: Sha256 | None = None
    convert: Conversion | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Source:
        origins = [name for name in ("hub", "package", "path") if getattr(self, name) is not None]
        if len(origins) != 1:
            raise ValueError(f"needs exactly one of hub, package, path; has {', '.join(origins) or 'none'}")
        if self.hub is not None and self.revision is None:
            raise ValueError("a hub source needs a revision")
        if self.hub is None and self.revision is not None:
            raise ValueError("revision needs hub only")
        if self.package is None and any(field is not None for field in (self.folder, self.extra, self.convert)):
            raise ValueError("folder, extra and convert need package only")
        if self.convert is not None and self.sha256 is None:
            raise ValueError("convert needs the sha256 of the weights that come out")
        return self

    def __str__(self) -> str:
        if self.hub is not None:
            return f"hub {self.hub}@{self.revision}"
        return f"package {self.package}" if self.package is not None else f"folder {self.path}"


class ModelEntry(Entry):
    """One encoder: where its weights are, how deep it is, and which layer to score with.

    ``languages`` are those it was trained on, and ``languages_source`` is who says so; ``multilingual`` without a list
    claims none. ``prefix`` is the text that its sentence vectors expect before every text; ``quantisation`` names the
    number format that the weights were reduced to, if they were.
    """

    name: str
    aliases: list[str] = []
    source: Source
    family: str
    layers: int = Field(ge=1)
    layer: int | Literal["unvalidated"]
    dimensions: int = Field(ge=1)
    max_tokens: int | None = Field(ge=8)
    parameters: int | None = Field(default=None, ge=1)
    licence: str
    languages: list[Code] | Literal["multilingual"]
    languages_source: str | None = None
    quantisation: str | None = None
    leading_space: bool = False
    prefix: str | None = None
    evidence: list[Evidence]
    notes: str | None = None

    @model_validator(mode="after")
    def _layer_exists(self) -> ModelEntry:
        if isinstance(self.layer, int) and not 0 <= self.layer <= self.layers:
            raise ValueError(f"layer {self.layer} is outside 0 to {self.layers}")
        return self


class LanguageEntry(Listed):
    """One language: the model that scores it unless the user names another, and what other tools call it.

    ``model`` is null where no model with a validated layer was trained on it. ``codes`` are further codes that mean the
    same language, and ``names`` further English names; ``genus`` and ``family`` are those of languages. ``papers`` is
    the papers' choice where ``model`` is another because that one was not trained on the language; ``alternatives`` are
    further models to name first. ``sacrebleu`` is the tokenizer sacreBLEU needs for it, ``stanza`` and ``fasttext`` the
    codes of those packages' models, if they have one.
    """

    file: ClassVar[str] = "languages.yaml"
    what: ClassVar[str] = "languages"
    key: ClassVar[str] = "code"
    code: Code
    name: str
    codes: list[Code] = []
    names: list[str] = []
    script: Annotated[str, Field(pattern=r"^[A-Z][a-z]{3}$")]
    genus: str | None = None
    family: str | None = None
    model: str | None
    papers: str | None = None
    alternatives: list[str] = []
    sacrebleu: str = "13a"
    stanza: str | None = None
    fasttext: str | None = None


class Baseline(Entry):
    """Mean scores of unrelated sentence pairs, one figure a layer (index 0 is the embedding layer).

    ``domain`` says what the sentences are (news), and ``tokens`` how many of the model's tokens they have, on average:
    scores of unrelated texts depend on both, most on their length.
    """

    language: str
    model: str
    domain: str | None = None
    tokens: float | None = Field(default=None, gt=0)
    precision: list[float]
    recall: list[float]
    f1: list[float]
    source: str
    corpus: str

    @model_validator(mode="after")
    def _same_length(self) -> Baseline:
        if not len(self.precision) == len(self.recall) == len(self.f1):
            raise ValueError("precision, recall and f1 need one figure for each layer")
        if not all(-1 <= value < 1 for value in (*self.precision, *self.recall, *self.f1)):
            raise ValueError("every figure must lie in [-1, 1): it is a mean cosine that scores are rescaled by")
        return self
