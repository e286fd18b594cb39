"""Settings of jobs, each written once: keywords in Python, options of the command line, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field

LANG = "Language of the texts; rows of a column lp into another are left out."
Seed = Annotated[int, Field(default=1, ge=0, description="Seed of all random draws.")]
Confidence = Annotated[float, Field(default=0.95, gt=0, lt=1, description="Level of the intervals.")]
Correction = Annotated[
    Literal["none", "holm", "bh"], Field(default="none", description="Correct p for the number of tests.")
]
Download = Annotated[bool, Field(default=False, description="Let stanza fetch its model.")]


Statistic = Annotated[Literal["pearson", "kendall"], Field(default="pearson", description="Correlation with people.")]


class JudgedColumns(TypedDict, total=False):
    """Columns of a table of human-judged segments."""

    candidate: Annotated[str, Field(default="candidate", description="Column of candidates.")]
    reference: Annotated[str, Field(default="reference", description="Column of references.")]
    human: Annotated[str, Field(default="human", description="Column of human scores.")]
    group: Annotated[
        str | None, Field(default=None, description="Column of groups to correlate within; lp if there is one.")
    ]


class TuneSettings(JudgedColumns, total=False):
    """How layers are measured on human-judged segments."""

    statistic: Statistic
    resamples: Annotated[int, Field(default=1000, ge=20, description="Bootstrap resamples of segments.")]
    seed: Seed


class JudgedLanguage(TypedDict, total=False):
    """Which rows of a table of several languages are meant."""

    lang: Annotated[
        str,
        Field(default="en", description="Language of the texts; rows of a column lp into another are left out."),
    ]
    device: Annotated[str, Field(default="auto", description="auto, cpu, cuda, cuda:N or mps.")]


class SweepSettings(TuneSettings, JudgedLanguage, total=False):
    """How layers are measured for any metrics."""


class AblationSettings(JudgedColumns, JudgedLanguage, total=False):
    """What the components of MoverScore are measured with."""

    mnli_model: Annotated[
        str | None, Field(default=None, description="Encoder fine-tuned on MNLI, for the rows with MNLI.")
    ]
    layer: Annotated[
        int | None,
        Field(default=None, ge=0, description="Layer without power means; the model's best unless given."),
    ]


class BaselineSettings(TypedDict, total=False):
    """How a baseline is computed, and where it is kept."""

    pairs: Annotated[int, Field(default=1_000_000, ge=2, description="Random pairs to score.")]
    seed: Seed
    tolerance: Annotated[
        float | None, Field(default=None, ge=0, description="Stop when every standard error is at most this.")
    ]
    state: Annotated[
        Path | None,
        Field(
            default=None,
            description="File that keeps the sums, so that a run can go on.",
            json_schema_extra={"writable": True},
        ),
    ]
    write: Annotated[bool, Field(default=False, description="Write the baseline to the overlay registry.")]


System = Annotated[
    str | None,
    Field(default=None, description="Column of systems, whose rows are taken together. [system, if there]"),
]


class FactorSettings(TypedDict, total=False):
    """What is scored by factors, and how the new columns are written."""

    lang: Annotated[str, Field(default="en", description="Language of both sides, or of each: de-en.")]
    sentence1: Annotated[
        str | None,
        Field(
            default=None,
            description="Column of first sentences, LEX's reference. [sentence1; else reference, or source of two "
            "languages]",
        ),
    ]
    sentence2: Annotated[
        str | None, Field(default=None, description="Column of second sentences. [sentence2, else candidate]")
    ]
    preset: Annotated[str | None, Field(default=None, description="Settings by name, e.g. kaster2021.")]
    nan: Annotated[
        Literal["keep", "omit", "error"],
        Field(default="keep", description="Pairs without a value: write nan, leave out, or refuse."),
    ]
    prefix: Annotated[str, Field(default="", description="Put this before the names of the new columns.")]
    registry: Annotated[Path | None, Field(default=None, description="Folder laid over the registry.")]


class DisentangleSettings(TypedDict, total=False):
    """How metrics are regressed on factors."""

    se: Annotated[
        Literal["auto", "classic", "hc3", "cluster"],
        Field(
            default="auto",
            description="Kind of standard errors; auto: cluster where rows share a segment or a text, else hc3.",
        ),
    ]
    cluster: Annotated[str | None, Field(default=None, description="Column of clusters for the standard errors.")]
    system: System
    segment: Annotated[
        str | None,
        Field(
            default=None,
            description="Column of segments; rows of one are not independent. [segment, sid or id, if there]",
        ),
    ]
    group: Annotated[str | None, Field(default=None, description="Column of groups to fit one by one and compare.")]
    intercept: Annotated[bool, Field(default=False, description="Fit an intercept.")]
    bootstrap: Annotated[int, Field(default=0, ge=0, description="Resamples for bootstrap intervals; 0 for none.")]
    seed: Seed
    confidence: Confidence
    correction: Correction
    nan: Annotated[
        Literal["error", "omit"],
        Field(default="error", description="Refuse missing numbers, or leave such rows out."),
    ]
    lang: Annotated[str | None, Field(default=None, description=LANG)]
    checks: Annotated[bool, Field(default=False, description="Test for bends and for products of factors.")]
    reliability: Annotated[
        Mapping[str, float] | Sequence[str],
        Field(
            default=(), description="Share of a factor's variance that is not noise, sem=.7,…: correct for the rest."
        ),
    ]
    repeat: Annotated[
        Mapping[str, Sequence[str]] | Sequence[str],
        Field(default=(), description="Columns that measure one factor, sem=sem1,sem2,…: reliability from them."),
    ]
    simex: Annotated[
        int, Field(default=0, ge=0, le=1000, description="Simulations to correct by SIMEX too; 0 for none.")
    ]
    control: Annotated[
        Sequence[str],
        Field(default=(), description="Columns to hold constant; length is counted in the texts. Repeatable."),
    ]
    random: Annotated[
        Sequence[str], Field(default=(), description="Columns with crossed random intercepts: segment,system.")
    ]
    spline: Annotated[
        Sequence[str], Field(default=(), description="Factors to bend: what curves gain over straight lines.")
    ]
    mediator: Annotated[
        str | None,
        Field(default=None, description="Factor, such as a human score, that the others may act through."),
    ]


class ExplainSettings(TypedDict, total=False):
    """How the risk of each word is told, and what it is held against."""

    method: Annotated[
        Literal["auto", "trained", "match", "erasure", "shapley"],
        Field(
            default="auto",
            description="trained or match: from an encoder's vectors; erasure or shapley: from scores of `metric=`. "
            "auto: erasure with `metric=`, else trained where the registry can and there is no reference, else match.",
        ),
    ]
    metric: Annotated[
        str | None, Field(default=None, description="Metric whose score is explained: NAME[:field=value,…].")
    ]
    layer: Annotated[int | None, Field(default=None, ge=0, description="Layer to match on, instead of the registry's.")]
    idf: Annotated[bool, Field(default=False, description="Weigh matches by how rare the word is in these texts.")]
    budget: Annotated[
        int, Field(default=256, ge=2, description="Texts to score a row and side for `method='shapley'`.")
    ]
    seed: Seed
    resamples: Annotated[int, Field(default=1000, ge=20, description="Bootstrap resamples of sentences, for marks.")]
    confidence: Confidence


class ParseSettings(TypedDict, total=False):
    """Where parses of the texts to change come from."""

    parses: Annotated[Path | None, Field(default=None, description="CoNLL-U file with parses of the texts to change.")]
    parser: Annotated[Literal["stanza", "spacy"] | None, Field(default=None, description="Or parse them with this.")]
    parser_dir: Annotated[Path | None, Field(default=None, description="Its models.")]
    download: Download


class InterveneSettings(ParseSettings, total=False):
    """Which texts are edited, what else they are compared with, and how big edits are."""

    candidate: Annotated[
        str | None,
        Field(default=None, description="Column of candidates, whose scores as they come are laid beside the edits."),
    ]
    reference: Annotated[str, Field(default="reference", description="Column of references.")]
    source: Annotated[str | None, Field(default=None, description="Column of sources, for metrics that read them.")]
    human: Annotated[
        str | None, Field(default=None, description="Column of human scores of the candidates: the factor sem.")
    ]
    base: Annotated[Literal["reference", "candidate"], Field(default="reference", description="Which texts to edit.")]
    meaning: Annotated[
        float | None,
        Field(default=None, gt=0, description="How far the human score falls where an edit changes the meaning."),
    ]
    strength: Annotated[
        float, Field(default=0.1, gt=0, le=1, description="Share of words that typing errors and commas change.")
    ]
    treebank: Annotated[
        Path | None,
        Field(default=None, description="CoNLL-U treebank with lemmas and features: word forms, for other languages."),
    ]
    vectors: Annotated[Path | None, Field(default=None, description="Word vectors, .vec or .bin, for mor.")]
    lexicon: Annotated[
        Path | None, Field(default=None, description="Morphological lexicon, for mor; built from tags otherwise.")
    ]
    seed: Seed
    confidence: Confidence
    correction: Correction
    skip_errors: Annotated[bool, Field(default=False, description="Go on without rows a metric fails on.")]


class PerturbSettings(ParseSettings, total=False):
    """Which texts are changed, how, and what is measured."""

    candidate: Annotated[
        str | None,
        Field(default=None, description="Column of texts to change; the references themselves unless given."),
    ]
    reference: Annotated[str, Field(default="reference", description="Column of references.")]
    source: Annotated[str | None, Field(default=None, description="Column of sources, for the perturbation source.")]
    control: Annotated[
        str,
        Field(default="no-punctuation", description="Perturbation that keeps the meaning, to measure others against."),
    ]
    seed: Seed
    resamples: Annotated[int, Field(default=1000, ge=1, description="Bootstrap resamples, and swaps of the tests.")]
    confidence: Confidence
    correction: Correction
    worst: Annotated[int, Field(default=3, ge=0, description="Worst rows to keep for each result (JSON).")]
    skip_errors: Annotated[bool, Field(default=False, description="Go on without rows a metric fails on.")]


class FoolSettings(TypedDict, total=False):
    """What tests on pairs and on triples have in common."""

    cluster: Annotated[
        Literal["texts", "none"],
        Field(
            default="texts",
            description="Rows that share a text, directly or over others, depend on each other (texts), or none do.",
        ),
    ]
    correction: Annotated[
        Literal["none", "holm", "bh"],
        Field(default="none", description="Correct the tests' p for the number of metric pairs."),
    ]
    confidence: Confidence
    resamples: Annotated[int, Field(default=1000, description="Resamples of bootstrap intervals.")]
    seed: Annotated[int, Field(default=1, description="Seed of resamples and folds.")]
    nan: Annotated[
        Literal["error", "omit"],
        Field(default="error", description="Refuse missing scores, or leave out such rows."),
    ]
    skip_errors: Annotated[
        bool, Field(default=False, description="Leave out rows on which a metric fails, and name them.")
    ]


class ChallengeColumns(TypedDict, total=False):
    """Which columns a challenge set has, where they have none of the usual names."""

    good: Annotated[
        str | None, Field(default=None, description="Column of good translations. [good or good-translation]")
    ]
    bad: Annotated[
        str | None, Field(default=None, description="Column of bad translations. [bad or incorrect-translation]")
    ]
    reference: Annotated[str | None, Field(default=None, description="Column of references. [reference, if there]")]
    source: Annotated[str | None, Field(default=None, description="Column of sources. [source, if there]")]
    segment: Annotated[
        str | None,
        Field(
            default=None,
            description="Column of segments; rows of one are not independent. [segment, sid or id, if there]",
        ),
    ]
    phenomenon: Annotated[
        str | None,
        Field(default=None, description="Column of phenomena. [phenomenon, phenomena or category, if there]"),
    ]
    severity: Annotated[str | None, Field(default=None, description="Column of severities. [severity, if there]")]
    lang_column: Annotated[
        str | None,
        Field(default=None, description="Column of languages or language pairs. [lang, langpair or lp, if there]"),
    ]


class ChallengeSettings(ChallengeColumns, total=False):
    """How metrics are tested on a challenge set."""

    anchor: Annotated[str, Field(default="empty", description="Phenomenon whose mean drop is the unit of sensitivity.")]
    examples: Annotated[
        int,
        Field(
            default=1,
            ge=0,
            description="How many rows of each phenomenon to keep, those first on which metrics disagree.",
        ),
    ]
    correction: Correction
    confidence: Confidence
    nan: Annotated[
        Literal["error", "omit"], Field(default="error", description="Refuse missing scores, or leave out such rows.")
    ]
    skip_errors: Annotated[
        bool, Field(default=False, description="Leave out rows on which a metric fails, and name them.")
    ]


class MbrSettings(TypedDict, total=False):
    """Which columns a table of candidates has, and how one of them is chosen."""

    id: Annotated[
        str | None,
        Field(default=None, description="Column that names the list; its rows stand together. [segment, sid or id]"),
    ]
    candidate: Annotated[str, Field(default="candidate", description="Column of candidates.")]
    source: Annotated[str | None, Field(default=None, description="Column of sources, for metrics that read them.")]
    model_score: Annotated[
        str | None, Field(default=None, description="Column of the model's scores, higher is better: ranks and ties.")
    ]
    weight: Annotated[
        str | None,
        Field(default=None, description="Column of weights: how much a row counts where others are held against it."),
    ]
    temperature: Annotated[
        float | None,
        Field(
            default=None,
            gt=0,
            description="Weigh rows by softmax(score / temperature) instead; all the same unless given.",
        ),
    ]
    method: Annotated[
        Literal["exact", "aggregate", "prune"],
        Field(
            default="exact",
            description="exact: all pairs; aggregate: each candidate against all references together; prune: a cheaper "
            "metric proposes.",
        ),
    ]
    proposer: Annotated[str, Field(default="chrf", description="For `method='prune'`: the cheaper metric.")]
    keep: Annotated[int, Field(default=10, ge=1, description="For `method='prune'`: candidates it proposes.")]
    check: Annotated[
        int, Field(default=10, ge=0, description="Decide so many lists exactly too, to state what is lost.")
    ]
    seed: Seed


class PairSettings(FoolSettings, total=False):
    """How metrics are tested as detectors of paraphrases."""

    interval: Annotated[
        Literal["logit", "delong", "bootstrap"], Field(default="logit", description="Interval of the ROC AUC.")
    ]
    folds: Annotated[int, Field(default=10, description="Folds of the cross-validated threshold.")]


class TripleSettings(FoolSettings, total=False):
    """How metrics are tested on triples."""

    bins: Annotated[
        int,
        Field(default=4, ge=0, description="Ranges of the gap in lexical overlap to split triples by; 0 for none."),
    ]
    worst: Annotated[
        int, Field(default=5, ge=0, description="How many of the smallest margins to show for each metric.")
    ]


class EnsembleColumns(TypedDict, total=False):
    """What the columns of a table of scores are, and what becomes of the ensemble."""

    group: Annotated[str | None, Field(default=None, description="Column of groups, such as language pairs.")]
    system: System
    segment: Annotated[
        str | None,
        Field(
            default=None, description="Column of segments; rows of one stay in one fold. [segment, sid or id, if there]"
        ),
    ]
    text: Annotated[
        Sequence[str] | None,
        Field(
            default=None,
            description="Columns of texts; equal ones stay in one fold. Repeatable. [source, reference, candidate, …]",
        ),
    ]
    fold: Annotated[str | None, Field(default=None, description="Column of ready-made folds.")]
    lower: Annotated[
        Sequence[str],
        Field(default=(), description="Those of `columns=` of which lower is better: their sign is turned."),
    ]
    fit: Annotated[
        Path | None,
        Field(default=None, description="Table to fit on, with the same columns, instead of cross-validation."),
    ]
    factor_columns: Annotated[
        Sequence[str] | None,
        Field(default=None, description="For `how='factors'`: columns of factors to compute profiles from."),
    ]
    profiles: Annotated[
        Path | None,
        Field(
            default=None,
            description="For `how='factors'`: what `bsx.jobs.disentangle(…)` writes as JSON.",
        ),
    ]
    save: Annotated[
        str | None,
        Field(default=None, description="Keep the ensemble as the metric ensemble:NAME, or in a file NAME.yaml."),
    ]
    member: Annotated[
        Sequence[str],
        Field(
            default=(),
            description="For `save=`: COLUMN=METRIC, where the column is not its name. Repeatable.",
        ),
    ]
    registry: Annotated[
        Path | None, Field(default=None, description="Registry folder to save in; your own unless given.")
    ]


class TrainingColumns(BaseModel):
    """What tables of training data call things, and where the texts of preferences are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidate: Annotated[str, Field(description="Column of candidates.")] = "candidate"
    reference: Annotated[str, Field(description="Column of references.")] = "reference"
    source: Annotated[str, Field(description="Column of sources.")] = "source"
    human: Annotated[
        Sequence[str],
        Field(description="Columns of human scores; several are several judgments, whose mean is learned. [human]"),
    ] = ("human",)
    lang: Annotated[str | None, Field(description=LANG)] = None
    outputs: Annotated[Sequence[str], Field(description="Systems' outputs that DARR data are about; repeatable.")] = ()
    references: Annotated[Sequence[str], Field(description="Their references, a file for each.")] = ()


class ProbePlan(BaseModel):
    """The experiment of `bsx.jobs.probe`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layers: Annotated[tuple[int, ...] | None, Field(description="Layers to probe; all unless given.")] = None
    probe: Annotated[Literal["logistic", "mlp"], Field(description="Classifier.")] = "logistic"
    pooling: Annotated[
        Literal["mean", "cls", "max"], Field(description="From the vectors of tokens to that of a sentence.")
    ] = "mean"
    specials: Annotated[bool, Field(description="Let special tokens take part in mean and max.")] = False
    control: Annotated[bool, Field(description="Run the control task too.")] = True
    train_sizes: Annotated[tuple[int, ...], Field(description="Further sizes of the training part.")] = ()
    limit: Annotated[int | None, Field(ge=10, description="Use this many sentences of a file, drawn at random.")] = None
    repeats: Annotated[int, Field(ge=1, description="Repeat with so many seeds: 1, 2, …")] = 3
    resamples: Annotated[int, Field(ge=20, description="Bootstrap resamples.")] = 1000


class PeopleColumns(JudgedColumns, total=False):
    """Which columns of a table of human judgments to lay beside probes, and how."""

    lang: Annotated[str, Field(default="en", description=LANG)]
    statistic: Statistic
