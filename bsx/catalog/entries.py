"""What the registry's YAML files may say: strictly validated, frozen entries.

An unknown, missing or contradictory field is an error that names the file and the field: a typo in a registry must
never change a score in silence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bsx.catalog.combination import Combination
from bsx.errors import RegistryError

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Code = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z]+)*$")]
"""How the registry spells a language: a BCP-47 language in small letters, or a variety of its own such as en-sci."""


Aspect = Literal["agreement", "robustness", "semantics", "speed"]
"""What a figure of a metric card speaks for."""
Test = tuple[str, str | None, str, str, int | None]
"""What a figure measures: data, direction, level, statistic, items."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Family(_Entry):
    """How encoders of one architecture (`model_type` of transformers) are loaded and cut at a layer."""

    layer_count: str
    model_class: str = "AutoModel"
    encoder: str | None = None
    final_norm: str | None = None
    position_count: str = "max_position_embeddings"
    position_offset: int = 0
    fewest_layers: int = 0
    padding: bool = True
    settings: dict[str, str | int | bool] = {}
    computed: list[str] = []


class Conversion(_Entry):
    """How a package's file becomes files that transformers reads, on first use, in the user's cache.

    ``name`` says which converter of `bsx.models.conversion` does it; ``file`` is the file, of the package's
    ``version``, with its ``sha256``; ``tokenizer`` is the digest of the tokenizer that comes out.
    """

    name: Literal["e5s1"]
    file: str
    version: str
    sha256: Sha256
    tokenizer: Sha256


class Source(_Entry):
    """Where a model's files come from: exactly one of a hub, an installed Python package, or a local folder.

    ``sha256`` is the digest of the weights, after their conversion if there is a ``convert``.
    """

    hub: str | None = None
    revision: str | None = None
    package: str | None = None
    folder: str | None = None
    extra: str | None = None
    path: str | None = None
    sha256: Sha256 | None = None
    convert: Conversion | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Source:
        origins = [name for name in ("hub", "package", "path") if getattr(self, name) is not None]
        if len(origins) != 1:
            raise ValueError(f"needs exactly one of hub, package, path; has {', '.join(origins) or 'none'}")
        if self.hub is not None and self.revision is None:
            raise ValueError("a hub source needs a revision")
        if self.hub is None and self.revision is not None:
            raise ValueError("revision goes with hub only")
        if self.package is None and any(field is not None for field in (self.folder, self.extra, self.convert)):
            raise ValueError("folder, extra and convert go with package only")
        if self.convert is not None and self.sha256 is None:
            raise ValueError("convert needs the sha256 of the weights that come out")
        return self

    def __str__(self) -> str:
        if self.hub is not None:
            return f"hub {self.hub}@{self.revision}"
        return f"package {self.package}" if self.package is not None else f"folder {self.path}"


class Evidence(_Entry):
    """One measured figure that speaks for a metric, or for a model's best layer, with its source.

    ``language`` is the language of the candidates it was measured on, ``direction`` that of the translations (en-tr),
    and ``level`` what was judged: segments or whole systems. ``layer`` is the layer, if not the entry's; ``called`` is
    the name that the source has for the model or metric. Of figures from metric cards, ``aspect`` says what they speak
    for, with the number of items, the interval, the signature and the versions; those of ``speed`` say how many times
    as long as chrF it takes on the same machine.
    """

    dataset: str
    language: Code = "en"
    direction: Annotated[str, Field(pattern=r"^[a-z]{2,3}-[a-z]{2,3}$")] | None = None
    level: Literal["segment", "system"] = "segment"
    layer: int | None = None
    statistic: str
    value: float
    called: str | None = None
    source: str
    aspect: Aspect | None = None
    n: int | None = Field(default=None, ge=1)
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    signature: str | None = None
    versions: dict[str, str] | None = None

    @field_validator("value", mode="after")
    @classmethod
    def _finite(cls, value: float) -> float:
        if not -1e9 < value < 1e9:
            raise ValueError("must be a number")
        return value

    @model_validator(mode="after")
    def _in_range(self) -> Evidence:
        if self.aspect == "speed" and self.value <= 0:
            raise ValueError("value: a time is more than 0")
        if self.aspect != "speed" and not -1 <= self.value <= 1:
            raise ValueError("value: must lie between -1 and 1")
        return self

    @model_validator(mode="after")
    def _into_its_language(self) -> Evidence:
        if self.direction is not None and self.direction.rpartition("-")[2] != self.language:
            raise ValueError(f"direction {self.direction} does not go into the language {self.language}")
        return self

    @property
    def test(self) -> Test:
        """What was measured: only figures of one test can be compared."""
        return self.dataset, self.direction, self.level, self.statistic, self.n


class ModelEntry(_Entry):
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


class LanguageEntry(_Entry):
    """One language: the model that scores it unless the user names another, and what other tools call it.

    ``names`` are further English names; ``genus`` and ``family`` are those of languages. ``papers`` is the papers'
    choice where ``model`` is another because that one was not trained on the language; ``alternatives`` are further
    models to name first. ``sacrebleu`` is the tokenizer sacreBLEU needs for it, ``stanza`` and ``fasttext`` the codes
    of those packages' models, if they have one.
    """

    code: Code
    name: str
    names: list[str] = []
    script: Annotated[str, Field(pattern=r"^[A-Z][a-z]{3}$")]
    genus: str | None = None
    family: str | None = None
    model: str
    papers: str | None = None
    alternatives: list[str] = []
    sacrebleu: str = "13a"
    stanza: str | None = None
    fasttext: str | None = None


class Baseline(_Entry):
    """Mean scores of unrelated sentence pairs, one figure a layer (index 0 is the embedding layer)."""

    language: str
    model: str
    precision: list[float]
    recall: list[float]
    f1: list[float]
    source: str
    corpus: str

    @field_validator("precision", "recall", "f1", mode="before")
    @classmethod
    def _floats(cls, values: object) -> object:
        return [float(v) if isinstance(v, int) else v for v in values] if isinstance(values, list) else values

    @model_validator(mode="after")
    def _same_length(self) -> Baseline:
        if not len(self.precision) == len(self.recall) == len(self.f1):
            raise ValueError("precision, recall and f1 need one figure for each layer")
        if not all(-1 <= value < 1 for value in (*self.precision, *self.recall, *self.f1)):
            raise ValueError("every figure must lie in [-1, 1): it is a mean cosine that scores are rescaled by")
        return self


class Check(_Entry):
    """Scores that the metric must give again, on a fixed input (`model`: the recipe of the tests' tiny model)."""

    model: str | None = None
    settings: dict[str, str | int | float | bool] = {}
    candidates: list[str]
    references: list[str] | None = None
    sources: list[str] | None = None
    values: list[float] | None
    tolerance: float = 1e-4


Need = Literal["candidate", "reference", "source"]


class MetricEntry(_Entry):
    """One metric: what it is, what it needs, and which code computes it.

    ``implementation`` is ``module:Class``; ``defaults`` replace defaults of that class's settings. ``empty`` is what a
    text without content scores (None: the metric says so itself). ``model`` is the encoder of the paper, ``languages``
    those that this encoder (or the metric) is made for, and ``languages_source`` is who says so. ``extra`` brings the
    packages it needs; ``needs_hub`` says that its own model comes from a hub only. ``evidence`` is how well it agrees
    with people, as published. ``check`` holds scores that tests reproduce.
    """

    name: str
    title: str
    implementation: str
    defaults: dict[str, str | int | float | bool] = {}
    needs: list[Need]
    higher_is_better: bool = True
    low: float | None = None
    high: float | None = None
    empty: float | None = 0.0
    model: str | None = None
    languages: list[Code] | Literal["any"] = "any"
    languages_source: str | None = None
    extra: str | None = None
    needs_hub: bool = False
    citation: str
    evidence: list[Evidence] = []
    notes: str | None = None
    check: Check

    @field_validator("low", "high", "empty", mode="before")
    @classmethod
    def _float(cls, value: object) -> object:
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _sensible(self) -> MetricEntry:
        if "candidate" not in self.needs or len(set(self.needs)) < 2 or len(set(self.needs)) != len(self.needs):
            raise ValueError("needs must name candidate, and reference or source or both, once each")
        if self.implementation.count(":") != 1:
            raise ValueError(f"implementation must be module:Class, is {self.implementation!r}")
        return self


class EnsembleOrigin(_Entry):
    """What a saved ensemble was fitted on: rows, the column of human scores, files with digests, command, versions.

    ``signatures`` says what each member's scores were computed with, where the table said so.
    """

    rows: int
    human: str
    files: list[dict[str, str]]
    command: str
    versions: dict[str, str]
    signatures: dict[str, str] = {}


class EnsembleEntry(_Entry):
    """A saved ensemble: its members as `bsx.get_metric` calls them, with normalisation and weights."""

    name: str
    combination: Combination
    fitted: EnsembleOrigin
    notes: str | None = None


class RiskCurve(_Entry):
    """P(error) = 1 / (1 + exp(-(slope * x + shift))) of what a word's match or network gives, x; it rises with x."""

    slope: Annotated[float, Field(gt=0)]
    shift: float


class MatchedRisks(_Entry):
    """Risks by the best match of a word's pieces on one ``layer``; x is 1 less its cosine.

    ``candidate`` and ``source`` are the curves of the two sides; without one, the risk is x itself.
    """

    layer: Annotated[int, Field(ge=0)]
    candidate: RiskCurve | None = None
    source: RiskCurve | None = None


class TrainedRisks(_Entry):
    """Risks by small networks on a word's vector of layer ``vectors`` and its matches on several ``layers``.

    ``weights`` is a safetensors file beside the entry, with its ``sha256``; ``data`` says what the networks learned.
    """

    weights: Annotated[str, Field(pattern=r"^[\w.-]+\.safetensors$")]
    sha256: Sha256
    vectors: Annotated[int, Field(ge=0)]
    layers: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    candidate: RiskCurve
    source: RiskCurve
    data: str


class WordEvidence(_Entry):
    """How well the risks of one side find the words that people marked on some data; the figures of `bsx explain`."""

    dataset: str
    side: Literal["candidate", "source"]
    method: Literal["trained", "match"]
    sentences: int
    auc: float
    average_precision: float
    recall: float
    source: str


class ExplainerEntry(_Entry):
    """How the risk of a word is told from a model's vectors: beside a ``reference``, ``free`` of one, ``trained``."""

    model: str
    reference: MatchedRisks | None = None
    free: MatchedRisks | None = None
    trained: TrainedRisks | None = None
    evidence: list[WordEvidence] = []
    notes: str | None = None


class FactorEntry(_Entry):
    """One linguistic factor: what it is, what it reads, and which code computes it.

    ``implementation`` is ``module:Class``; ``reads`` what it needs beside the two sentences; ``presets`` are named sets
    of settings, ``default`` the one that holds unless the user names another. ``low`` and ``high`` bound its scores.
    """

    name: str
    title: str
    implementation: str
    reads: list[Literal["parses", "vectors", "human", "translation", "parallel"]] = []
    presets: dict[str, dict[str, str | int | float | bool]]
    default: str
    low: float | None = None
    high: float | None = None
    extra: str | None = None
    citation: str
    notes: str | None = None

    @field_validator("low", "high", mode="before")
    @classmethod
    def _float(cls, value: object) -> object:
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _sensible(self) -> FactorEntry:
        if self.implementation.count(":") != 1:
            raise ValueError(f"implementation must be module:Class, is {self.implementation!r}")
        if self.default not in self.presets:
            raise ValueError(f"default names no preset: {self.default!r} is not one of {', '.join(self.presets)}")
        return self


EntryT = TypeVar("EntryT", bound=_Entry)


def validate(kind: type[EntryT], value: object, file: Path | str, where: str = "") -> EntryT:
    """Build an entry from parsed YAML.

    Args:
        kind: the entry class.
        value: what the YAML file holds at that place.
        file: the file's path, for the message.
        where: the place inside the file, for the message.

    Raises:
        RegistryError: with file and field, if anything is unknown, missing, of the wrong type or contradictory.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            field = ".".join(str(part) for part in ([where] if where else []) + list(problem["loc"]))
            problems.append(f"{field or 'entry'}: {problem['msg']}")
        raise RegistryError(f"{file}: {'; '.join(problems)}") from error
