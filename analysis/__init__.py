"""Analysis of metric scores: works on tables, arrays and callables, and builds no scorer.

Agreement with human judgments, tests between systems, what layers know, what a metric measures, whether it can be
fooled, ensembles, reports, and data with human judgments. Each name is imported when it is first asked for.
"""

# ruff: noqa: I001

from __future__ import annotations

from typing import TYPE_CHECKING

from bsx.support.faces import public_face

if TYPE_CHECKING:
    from bsx.analysis.adversarial.build_triples import build_paws as build_paws, clean_table6 as clean_table6
    from bsx.analysis.adversarial.build_triples import lexical_overlap as lexical_overlap, overlaps as overlaps
    from bsx.analysis.adversarial.build_triples import permute_nouns as permute_nouns
    from bsx.analysis.adversarial.challenge import ChallengeResult as ChallengeResult, challenge as challenge
    from bsx.analysis.adversarial.pairs import PairsResult as PairsResult, detect_pairs as detect_pairs
    from bsx.analysis.adversarial.pairs import easy_to_hard as easy_to_hard
    from bsx.analysis.adversarial.result import Robustness as Robustness
    from bsx.analysis.adversarial.robustness import robustness as robustness
    from bsx.analysis.adversarial.settings import ChallengeSettings as ChallengeSettings, PairSettings as PairSettings
    from bsx.analysis.adversarial.settings import RobustnessSettings as RobustnessSettings
    from bsx.analysis.adversarial.settings import TripleSettings as TripleSettings
    from bsx.analysis.adversarial.build_triples import conllu_tagger as conllu_tagger, nltk_tagger as nltk_tagger
    from bsx.analysis.adversarial.build_triples import stanza_tagger as stanza_tagger
    from bsx.analysis.adversarial.triples import TriplesResult as TriplesResult, prefer_paraphrase as prefer_paraphrase
    from bsx.analysis.compare.result import CompareResult as CompareResult
    from bsx.analysis.compare.result import MetricComparison as MetricComparison
    from bsx.analysis.compare.run import compare_systems as compare_systems
    from bsx.analysis.compare.settings import CompareSettings as CompareSettings
    from bsx.data.frame import CorpusScores as CorpusScores
    from bsx.analysis.train.curve import LearningCurve as LearningCurve, learning_curve as learning_curve
    from bsx.analysis.raters.run import RaterAgreement as RaterAgreement, rater_agreement as rater_agreement
    from bsx.analysis.meta.result import Judgments as Judgments, MetaResult as MetaResult
    from bsx.analysis.meta.settings import MetaSettings as MetaSettings
    from bsx.analysis.meta.protocol import ProtocolResult as ProtocolResult, rank_by_protocol as rank_by_protocol
    from bsx.analysis.datasets.mqm import load_esa as load_esa
    from bsx.analysis.datasets.challenge import ChallengeSet as ChallengeSet, MinimalPair as MinimalPair
    from bsx.analysis.datasets.challenge import load_challenge as load_challenge
    from bsx.analysis.datasets.eval4nlp import load_eval4nlp as load_eval4nlp
    from bsx.analysis.datasets.flickr8k import load_flickr8k as load_flickr8k
    from bsx.analysis.datasets.judged import JudgedTable as JudgedTable
    from bsx.analysis.datasets.wmt import load_mlqe as load_mlqe
    from bsx.analysis.datasets.mqm import load_mqm as load_mqm
    from bsx.analysis.datasets.mtme import load_mt_metrics_eval as load_mt_metrics_eval
    from bsx.analysis.datasets.obtain import get_dataset as get_dataset, verify_dataset as verify_dataset
    from bsx.analysis.datasets.pairs import load_pairs as load_pairs, load_paws as load_paws, load_qqp as load_qqp
    from bsx.analysis.datasets.pairs import load_stsb as load_stsb
    from bsx.analysis.datasets.store import load_data as load_data, load_data_or_example as load_data_or_example
    from bsx.analysis.datasets.summaries import load_realsumm as load_realsumm, load_summeval as load_summeval
    from bsx.analysis.datasets.systems import load_metric_scores as load_metric_scores
    from bsx.analysis.datasets.systems import load_system_outputs as load_system_outputs
    from bsx.analysis.datasets.tabular import load_multi_reference as load_multi_reference, load_table as load_table
    from bsx.analysis.datasets.testsets import TestSet as TestSet, load_test_set as load_test_set
    from bsx.analysis.datasets.testsets import test_sets as test_sets
    from bsx.analysis.datasets.triples import Triple as Triple, TripleTable as TripleTable, load_triples as load_triples
    from bsx.analysis.datasets.wmt import load_darr as load_darr, load_wmt_da as load_wmt_da
    from bsx.analysis.datasets.wmt import load_wmt_da_system as load_wmt_da_system
    from bsx.analysis.disentangle.errors import compare_coefficients as compare_coefficients
    from bsx.analysis.disentangle.variants import linearity_checks as linearity_checks, nested_test as nested_test
    from bsx.analysis.disentangle.result import DisentangleResult as DisentangleResult, NestedTest as NestedTest
    from bsx.analysis.disentangle.settings import DisentangleSettings as DisentangleSettings
    from bsx.analysis.ensemble.fit import Training as Training, learn_weights as learn_weights
    from bsx.analysis.ensemble.fit import out_of_fold as out_of_fold
    from bsx.analysis.ensemble.result import EnsembleResult as EnsembleResult
    from bsx.analysis.ensemble.settings import EnsembleSettings as EnsembleSettings
    from bsx.analysis.factors.base import Factor as Factor, FactorConfig as FactorConfig, FactorScores as FactorScores
    from bsx.analysis.factors.base import Resources as Resources, SentencePairs as SentencePairs
    from bsx.analysis.factors.crosslingual import cross_lingual_bias as cross_lingual_bias
    from bsx.analysis.factors.lexical import bleu1 as bleu1
    from bsx.analysis.factors.lexicon import build_lexicon as build_lexicon, read_lexicon as read_lexicon
    from bsx.analysis.factors.morphology import mor as mor, mor_scores as mor_scores
    from bsx.analysis.factors.parsers import StanzaParser as StanzaParser
    from bsx.analysis.factors.parses import Parse as Parse, read_conllu as read_conllu
    from bsx.analysis.factors.retrofitting import retrofit as retrofit, retrofit_fixed_point as retrofit_fixed_point
    from bsx.analysis.factors.syntax import syn as syn, syn_scores as syn_scores
    from bsx.analysis.factors.syntax import tree_edit_distance as tree_edit_distance
    from bsx.analysis.factors.vectors import normalise_vectors as normalise_vectors, read_vectors as read_vectors
    from bsx.analysis.factors.vectors import train_vectors as train_vectors, write_vectors as write_vectors
    from bsx.analysis.factors.zoo import compute_factors as compute_factors, get_factor as get_factor
    from bsx.analysis.factors.zoo import get_factors as get_factors
    from bsx.analysis.intervene.edits import EditedText as EditedText, save_pairs as save_pairs
    from bsx.analysis.intervene.result import Interventions as Interventions
    from bsx.analysis.intervene.texts import intervene_texts as intervene_texts
    from bsx.analysis.intervene.settings import InterveneSettings as InterveneSettings
    from bsx.analysis.perturbations.base import Perturbation as Perturbation
    from bsx.analysis.perturbations.perturb import get_perturbation as get_perturbation
    from bsx.analysis.perturbations.grammar.inflections import Inflections as Inflections
    from bsx.analysis.perturbations.perturb import Perturbed as Perturbed, perturb as perturb
    from bsx.analysis.plan.result import PlanResult as PlanResult
    from bsx.analysis.plan.settings import ComparePlan as ComparePlan, MetaPlan as MetaPlan
    from bsx.analysis.probe.experiment import TestData as TestData, probe_layers as probe_layers
    from bsx.analysis.probe.result import ProbedModel as ProbedModel, ProbeResult as ProbeResult
    from bsx.analysis.probe.result import Transferred as Transferred
    from bsx.analysis.probe.tasks import ProbingTask as ProbingTask
    from bsx.analysis.report.build import build_report as build_report
    from bsx.analysis.report.documents import Document as Document, parse_document as parse_document
    from bsx.analysis.report.documents import TableColumns as TableColumns, read_document as read_document
    from bsx.analysis.report.result import Report as Report
    from bsx.analysis.stats.detection import compare_auc as compare_auc, compare_auc_between as compare_auc_between
    from bsx.analysis.stats.detection import precision_recall as precision_recall
    from bsx.analysis.stats.detection import roc_auc as roc_auc
    from bsx.analysis.stats.detection import best_threshold as best_threshold
    from bsx.analysis.stats.clusters import significance_clusters as significance_clusters
    from bsx.analysis.stats.correlation import bootstrap_correlations as bootstrap_correlations
    from bsx.analysis.stats.correlation import fisher_interval as fisher_interval, kendall as kendall
    from bsx.analysis.stats.correlation import pairwise_accuracy as pairwise_accuracy, pearson as pearson
    from bsx.analysis.stats.correlation import spearman as spearman
    from bsx.analysis.stats.folds import refuse_leak as refuse_leak, unit_folds as unit_folds, units as units
    from bsx.analysis.stats.layers import LayerAgreement as LayerAgreement, layer_agreement as layer_agreement
    from bsx.analysis.stats.systems.ties import compare_ties as compare_ties
    from bsx.analysis.stats.systems.ties import pairwise_accuracy_with_ties as pairwise_accuracy_with_ties
    from bsx.analysis.stats.systems.soft import soft_pairwise_accuracy as soft_pairwise_accuracy
    from bsx.analysis.stats.preference import mcnemar as mcnemar, preference as preference
    from bsx.analysis.stats.preference import wilson_interval as wilson_interval
    from bsx.analysis.stats.regression import pooled_test as pooled_test, fit_ols as fit_ols, wald as wald
    from bsx.analysis.stats.results import Comparison as Comparison, Estimate as Estimate
    from bsx.analysis.stats.selection import ModelSelection as ModelSelection
    from bsx.analysis.stats.selection import expected_model_selection as expected_model_selection
    from bsx.analysis.stats.significance import paired_bootstrap as paired_bootstrap, perm_both as perm_both
    from bsx.analysis.stats.significance import williams as williams
    from bsx.analysis.stats.significance import williams_from_correlations as williams_from_correlations
    from bsx.analysis.stats.systems.darr import compare_darr as compare_darr, darr_from_pairs as darr_from_pairs
    from bsx.analysis.stats.systems.grouped import compare_grouped as compare_grouped, grouped as grouped
    from bsx.analysis.stats.systems.hybrid import compare_hybrid_limits as compare_hybrid_limits
    from bsx.analysis.stats.systems.hybrid import hybrid_correlation_limit as hybrid_correlation_limit


if not TYPE_CHECKING:  # a type checker that saw __getattr__ would let every misspelt name pass
    __getattr__, __dir__ = public_face(__name__)
