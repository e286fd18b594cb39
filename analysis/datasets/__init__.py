"""Data sets with human judgments: one loader for each layout, one tidy table out of each."""

from __future__ import annotations

from bsx.analysis.datasets.flickr8k import load_flickr8k
from bsx.analysis.datasets.judged import COLUMNS, JudgedTable
from bsx.analysis.datasets.mlqe import load_mlqe
from bsx.analysis.datasets.mtme import load_mt_metrics_eval
from bsx.analysis.datasets.obtain import get_dataset, verify_dataset
from bsx.analysis.datasets.pairs import load_pairs, load_paws, load_qqp, load_stsb
from bsx.analysis.datasets.store import LOADERS, load_dataset
from bsx.analysis.datasets.systems import load_metric_scores, load_system_outputs
from bsx.analysis.datasets.tabular import load_multi_reference, load_table
from bsx.analysis.datasets.triples import load_triples
from bsx.analysis.datasets.wmt import load_darr, load_wmt_da, load_wmt_da_system
from bsx.support.folders import data_folder

__all__ = [
    "COLUMNS",
    "LOADERS",
    "JudgedTable",
    "data_folder",
    "get_dataset",
    "load_darr",
    "load_dataset",
    "load_flickr8k",
    "load_metric_scores",
    "load_mlqe",
    "load_mt_metrics_eval",
    "load_multi_reference",
    "load_pairs",
    "load_paws",
    "load_qqp",
    "load_stsb",
    "load_system_outputs",
    "load_table",
    "load_triples",
    "load_wmt_da",
    "load_wmt_da_system",
    "verify_dataset",
]
