"""bsx: BERTScore and its relatives for any language, and a view of what a metric measures.

The names below are the public face, beside `bsx.analysis`. Importing this package is cheap: torch, transformers and
pandas are imported when first needed.
"""

# ruff: noqa: I001

from __future__ import annotations

from typing import TYPE_CHECKING

from bsx.support.environment import silence as _silence
from bsx.support.faces import Presenter as _Presenter, present_by as _present_by, public_face

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
    from bsx.bertscore.alignment import Alignment as Alignment, align_texts as align_texts
    from bsx.bertscore.baseline import BaselineRun as BaselineRun
    from bsx.bertscore.config import ScorerConfig as ScorerConfig
    from bsx.bertscore.loss import bertscore_loss as bertscore_loss
    from bsx.bertscore.results import Scores as Scores
    from bsx.bertscore.scorer import Scorer as Scorer, score as score
    from bsx.catalog.catalog import Catalog as Catalog, load_registry as load_registry
    from bsx.catalog.entries.metrics import Check as Check, MetricEntry as MetricEntry
    from bsx.catalog.overlay import write_baseline as write_baseline, write_ensemble as write_ensemble
    from bsx.catalog.overlay import write_model as write_model
    from bsx.cluster.scorer import BatchScorer as BatchScorer, CorpusResult as CorpusResult
    from bsx.data.columns import read_columns as read_columns
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
    from bsx.metrics.embedding.fit_mapping import fit_mapping as fit_mapping
    from bsx.metrics.paired import paired_scores as paired_scores
    from bsx.metrics.results import MetricScores as MetricScores, score_corpus as score_corpus
    from bsx.metrics.base import get_metric as get_metric, get_metrics as get_metrics
    from bsx.metrics.inventory import list_metrics as list_metrics
    from bsx.models.ranking import ModelChoice as ModelChoice, list_models as list_models, select_model as select_model
    from bsx.support.provenance import Signature as Signature
    from bsx.networks.config import TrainConfig as TrainConfig
    from bsx.networks.data import Instances as Instances
    from bsx.networks.encoder import FrozenEncoder as FrozenEncoder
    from bsx.networks.record import ModelRecord as ModelRecord
    from bsx.networks.run import train_metric as train_metric
    from bsx.networks.scoring import score_instances as score_instances
    from bsx.networks.vectors import VectorStore as VectorStore

    __version__: str

_silence()


@_present_by
def _presenter() -> _Presenter:
    """Return what shows results, in a room above all that make some."""
    from bsx.analysis.present import forms

    return forms


if not TYPE_CHECKING:  # a type checker that saw __getattr__ would let every misspelt name pass
    _find, __dir__ = public_face(__name__, "__version__")

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from bsx.support.provenance import VERSION

            return VERSION
        if name in ("analysis", "models"):
            return __import__(f"bsx.{name}", fromlist=["face"])
        return _find(name)
