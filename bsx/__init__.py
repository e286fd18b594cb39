"""bsx: BERTScore and its relatives for any language, and a view of what a metric measures.

A result can be printed and has ``summary()``, ``estimates``, ``to_frame()``, ``to_latex()`` and ``plot()``. Statistics
and data sets are in `bsx.analysis`. Importing is cheap: torch, transformers and pandas are imported when first needed.

Score texts:
    Scorer                 BERTScore with one model, kept for many calls
    score                  BERTScore in one call
    score_files            files of any size, with any metrics
    score_languages        a table each row of which names its language
    get_metric             one metric by name, ready to score
    get_metrics            several metrics that share encoders
    score_corpus           several metrics and systems, in memory
    Encoders               the models of a run, shared by metrics
    Idf                    token weights counted on texts of your own
    BatchScorer            columns of tables, on several machines
    draw_alignment         a picture of which token matches which

Choose models:
    list_models            all models, or those of a language, by evidence
    list_metrics           all metrics
    select_model           the best model for a language, and why
    load_registry          all that is known of models, metrics and languages
    detect_language        the language of texts
    tune                   which layer of a model agrees best with people
    baseline               what unrelated texts score, to rescale by

Compare systems:
    evaluate               systems, with metrics chosen for the language
    compare                systems with each other, with tests and intervals
    plan_compare           how many segments a comparison needs

Check and explain metrics:
    meta                   how well metrics agree with human judgments
    plan_meta              how many judgments such a study needs
    protocol_table         the official table of a year of WMT
    factors                how alike texts are in meaning, words, grammar and form
    disentangle            which of these factors scores go with
    intervene              how far scores fall when one factor changes
    probe                  what a model's layers know

Attack metrics:
    perturb                how far scores fall when texts are damaged
    challenge_metrics      good against bad translations, by phenomenon
    detect_paraphrases     whether scores tell paraphrases from other pairs
    build_triples          a sentence, its paraphrase, and one that misleads
    prefer_paraphrases     how often metrics prefer the paraphrase

Combine, train, report:
    ensemble               one metric made of several
    train                  a metric learnt from human scores
    train_curve            what more human scores would bring
    report                 one page of all results
    convert                tables and results in other formats

Write a metric:
    PairMetric             base of metrics that compare two texts
    MetricConfig           base of a metric's settings
    Pairs                  the texts that it is given
    PairScores             the scores that it returns

Errors:
    BsxError               base of all
    InputError             texts, files or settings that cannot be used
    UnknownNameError       no such model, metric, language or column
    ModelUnavailableError  a model that is neither here nor reachable
    MissingExtraError      a package that is not installed
"""

# ruff: noqa: I001

from __future__ import annotations

from typing import TYPE_CHECKING

from bsx.support.environment import silence as _silence
from bsx.support.faces import Presenter as _Presenter, present_by as _present_by, public_face
from bsx.support.faces import callable_room as _callable

if TYPE_CHECKING:
    from bsx.analysis.present.scores import draw_alignment as draw_alignment
    from bsx.analysis.adversarial.perturb import perturb as perturb
    from bsx.analysis.adversarial.run import challenge_metrics as challenge_metrics
    from bsx.analysis.adversarial.run import detect_paraphrases as detect_paraphrases
    from bsx.analysis.adversarial.run import build_triples as build_triples
    from bsx.analysis.adversarial.run import prefer_paraphrases as prefer_paraphrases
    from bsx.analysis.baseline.run import baseline as baseline
    from bsx.analysis.compare.run import compare as compare
    from bsx.analysis.disentangle.run import disentangle as disentangle
    from bsx.analysis.ensemble.run import ensemble as ensemble
    from bsx.analysis.evaluate.run import evaluate as evaluate
    from bsx.analysis.factors.run import factors as factors
    from bsx.analysis.intervene.run import intervene as intervene
    from bsx.analysis.meta.run import meta as meta
    from bsx.analysis.meta.wmt import protocol_table as protocol_table
    from bsx.analysis.plan.run import plan_compare as plan_compare, plan_meta as plan_meta
    from bsx.analysis.probe.run import probe as probe
    from bsx.analysis.report.run import convert as convert, report as report
    from bsx.analysis.train.run import train_curve as train_curve, train as train
    from bsx.analysis.tune.run import tune as tune
    from bsx.scoring.languages import ScoredLanguages as ScoredLanguages, score_languages as score_languages
    from bsx.scoring.run import ScoredFiles as ScoredFiles, score_files as score_files
    from bsx.bertscore.alignment import Alignment as Alignment
    from bsx.bertscore.config import ScorerConfig as ScorerConfig
    from bsx.bertscore.results import Scores as Scores
    from bsx.bertscore.scorer import Scorer as Scorer, score as score
    from bsx.catalog.catalog import Catalog as Catalog, load_registry as load_registry
    from bsx.cluster.scorer import BatchScorer as BatchScorer, CorpusResult as CorpusResult
    from bsx.data.corpus import MemoryCorpus as MemoryCorpus
    from bsx.data.writing import detect_language as detect_language
    from bsx.encode.idf import Idf as Idf
    from bsx.encode.run_config import RunConfig as RunConfig
    from bsx.encode.session import Encoders as Encoders
    from bsx.errors import BsxError as BsxError, DataUnavailableError as DataUnavailableError, InputError as InputError
    from bsx.errors import MissingExtraError as MissingExtraError, ModelUnavailableError as ModelUnavailableError
    from bsx.errors import RegistryError as RegistryError, UnknownNameError as UnknownNameError
    from bsx.metrics.base import Metric as Metric, PairMetric as PairMetric
    from bsx.metrics.core import PairScores as PairScores, Pairs as Pairs
    from bsx.metrics.core import MetricConfig as MetricConfig
    from bsx.metrics.embedding.base import EncoderMetric as EncoderMetric
    from bsx.metrics.embedding.mapping import fit_mapping as fit_mapping
    from bsx.metrics.results import MetricScores as MetricScores, paired_scores as paired_scores
    from bsx.metrics.results import score_corpus as score_corpus
    from bsx.metrics.base import get_metric as get_metric, get_metrics as get_metrics
    from bsx.metrics.inventory import list_metrics as list_metrics
    from bsx.models.ranking import ModelChoice as ModelChoice, list_models as list_models, select_model as select_model

    __version__: str

# The names that the docstring lists, one a line.
__all__ = [line.split()[0] for line in (__doc__ or "").splitlines() if line.startswith("    ")]

_silence()
for _room, _function in {"bertscore": "score", "metrics": "list_metrics", "models": "list_models"}.items():
    _callable(f"bsx.{_room}", _function)


@_present_by
def _presenter() -> _Presenter:
    """Return what shows results, in a room above all that make some."""
    from bsx.analysis.present import forms

    return forms


if not TYPE_CHECKING:  # a type checker that saw __getattr__ would let every misspelt name pass
    _find, __dir__ = public_face(__name__, "__version__", below="bsx.analysis")

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from bsx.support.provenance import VERSION

            return VERSION
        if name == "analysis":
            return __import__("bsx.analysis", fromlist=["face"])
        return _find(name)
