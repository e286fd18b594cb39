"""What a command does beside options and printing, callable from Python.

Each job takes typed settings and returns a result; none prints, and none knows the command line. A job that takes long
calls ``progress`` with a phase, what is done, and what there is in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bsx.support.faces import public_face

if TYPE_CHECKING:
    from bsx.jobs.ablation import ablate as ablate
    from bsx.jobs.alignment import fit_alignment as fit_alignment
    from bsx.jobs.baselines import baseline as baseline
    from bsx.jobs.combining import ensemble as ensemble
    from bsx.jobs.comparing import compare as compare
    from bsx.jobs.evaluating import Wanted as Wanted
    from bsx.jobs.evaluating import meta as meta
    from bsx.jobs.explaining import disentangle as disentangle
    from bsx.jobs.factoring import factors as factors
    from bsx.jobs.fooling import build_triples as build_triples
    from bsx.jobs.fooling import fool_pairs as fool_pairs
    from bsx.jobs.fooling import fool_triples as fool_triples
    from bsx.jobs.layers import sweep_layers as sweep_layers
    from bsx.jobs.perturbing import perturb as perturb
    from bsx.jobs.probing import probe as probe
    from bsx.jobs.reporting import report as report
    from bsx.jobs.score import Input as Input
    from bsx.jobs.score import score_files as score_files
    from bsx.jobs.training import train as train
    from bsx.jobs.tuning import tune as tune

__all__ = [
    "Input",
    "Wanted",
    "ablate",
    "baseline",
    "build_triples",
    "compare",
    "disentangle",
    "ensemble",
    "factors",
    "fit_alignment",
    "fool_pairs",
    "fool_triples",
    "meta",
    "perturb",
    "probe",
    "report",
    "score_files",
    "sweep_layers",
    "train",
    "tune",
]

if not TYPE_CHECKING:  # a type checker that saw __getattr__ would let every misspelt name pass
    __getattr__, __dir__ = public_face(
        __name__,
        {
            "ablation": "ablate",
            "alignment": "fit_alignment",
            "baselines": "baseline",
            "combining": "ensemble",
            "comparing": "compare",
            "evaluating": "Wanted meta",
            "explaining": "disentangle",
            "factoring": "factors",
            "fooling": "build_triples fool_pairs fool_triples",
            "layers": "sweep_layers",
            "perturbing": "perturb",
            "probing": "probe",
            "reporting": "report",
            "score": "Input score_files",
            "training": "train",
            "tuning": "tune",
        },
    )
