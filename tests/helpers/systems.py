"""Two systems compared, by each test of `compare_systems`."""

from __future__ import annotations

from functools import partial
from typing import Any

from bsx.analysis.compare.result import SystemTest
from bsx.analysis.compare.run import compare_systems


def _compared(test: Any, a: Any, b: Any, **settings: Any) -> SystemTest:
    (found,) = compare_systems({"b": b, "a": a}, test=test, **settings).metrics[0].tests
    return found


bootstrap_systems = partial(_compared, "bootstrap")
randomise_systems = partial(_compared, "randomise")
studentised_systems = partial(_compared, "bootstrap-t")
