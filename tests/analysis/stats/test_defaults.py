"""What every function of statistics takes where nobody says otherwise: published numbers were made with these."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import bsx.analysis.disentangle
import bsx.analysis.meta
import bsx.analysis.stats

DEFAULTS: dict[str, tuple[object, ...]] = {
    "confidence": (0.95,),
    "resamples": (1000,),
    "permutations": (1000,),
    "seed": (1,),
    "alpha": (0.05,),
    "nan": ("error",),
    "constant": ("skip",),
    "threshold": (25.0,),
    "ties": ("discordant",),
    "resample": ("segments", None),
    "higher_is_better": (True,),
    "margin": (None,),
    "human_epsilon": (0.0,),
    "human_ties": (0.0,),
    "system_score": ("all",),
    "spa": ("permutation",),
    "hybrids": (10_000,),
    "bins": (10,),
    "fewest": (20,),
    "seeds": ((1, 2, 3),),
    "intercept": (False,),
    "cluster": (None,),
}
OTHERS: dict[tuple[str, str], object] = {
    ("settings", "resamples"): 1,  # what is checked where nothing is drawn
    ("compare_coefficients", "resamples"): 2000,
    ("compare_systems", "resamples"): None,  # by the number of systems
    ("disentangle", "resamples"): 0,
}


@pytest.mark.parametrize("room", [bsx.analysis.stats, bsx.analysis.meta, bsx.analysis.disentangle])
def test_defaults_are_the_same_everywhere(room: ModuleType) -> None:
    seen = set()
    for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if not inspect.isfunction(value) or value.__module__ != module.__name__:
                continue
            for parameter in inspect.signature(value).parameters.values():
                if parameter.default is not parameter.empty and parameter.name in DEFAULTS:
                    where = f"{module.__name__}.{name}: {parameter}"
                    allowed = DEFAULTS[parameter.name]
                    if (name, parameter.name) in OTHERS:
                        allowed = (OTHERS[name, parameter.name],)
                    assert parameter.default in allowed, where
                    seen.add(parameter.name)
    assert {"confidence", "seed"} <= seen
