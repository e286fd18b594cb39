"""What a command does beside options and printing, callable from Python.

Each job takes typed settings and returns a result; none prints, and none knows the command line. A job that takes long
calls ``progress`` with a phase, what is done, and what there is in all.
"""

# ruff: noqa: I001

from __future__ import annotations

from typing import TYPE_CHECKING

from bsx.support.faces import public_face

if TYPE_CHECKING:
    from bsx.jobs.comparing import CompareRun as CompareRun, compare as compare
    from bsx.jobs.combining import ensemble as ensemble
    from bsx.jobs.evaluating import MetaRun as MetaRun, meta as meta
    from bsx.jobs.disentangling import disentangle as disentangle
    from bsx.jobs.factoring import FactorRun as FactorRun, factors as factors
    from bsx.jobs.adversarial import BuildTriplesRun as BuildTriplesRun
    from bsx.jobs.adversarial import ChallengeRun as ChallengeRun, challenge_metrics as challenge_metrics
    from bsx.jobs.adversarial import PairsRun as PairsRun, detect_paraphrases as detect_paraphrases
    from bsx.jobs.adversarial import TriplesRun as TriplesRun, build_triples as build_triples
    from bsx.jobs.adversarial import prefer_paraphrases as prefer_paraphrases
    from bsx.jobs.intervening import intervene as intervene
    from bsx.jobs.perturbing import PerturbRun as PerturbRun, perturb as perturb
    from bsx.jobs.reporting import ConvertRun as ConvertRun, convert as convert
    from bsx.jobs.reporting import report as report
    from bsx.jobs.scoring.answer import EvaluateRun as EvaluateRun, evaluate as evaluate
    from bsx.frames.texts import Input as Input
    from bsx.jobs.scoring.run import ScoredFiles as ScoredFiles, ScoredLanguages as ScoredLanguages
    from bsx.jobs.scoring.run import score_files as score_files, score_languages as score_languages
    from bsx.jobs.baselines import BaselineSettings as BaselineSettings, baseline as baseline
    from bsx.jobs.layers import TuneSettings as TuneSettings, tune as tune
    from bsx.jobs.planning import PlanCompareRun as PlanCompareRun
    from bsx.jobs.planning import PlanMetaRun as PlanMetaRun, plan_compare as plan_compare, plan_meta as plan_meta
    from bsx.jobs.protocols import ProtocolRun as ProtocolRun, protocol_table as protocol_table
    from bsx.jobs.probing import ProbeSettings as ProbeSettings, probe as probe
    from bsx.jobs.training import CurveSettings as CurveSettings, train_curve as train_curve
    from bsx.jobs.training import TrainSettings as TrainSettings, train as train

if not TYPE_CHECKING:  # a type checker that saw __getattr__ would let every misspelt name pass
    __getattr__, __dir__ = public_face(__name__)
