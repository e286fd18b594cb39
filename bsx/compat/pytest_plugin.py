"""A fixture for quality gates in pytest: ``bsx_at_least({"chrf": 55}, candidates, references)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bsx.data.corpus import References, Texts
    from bsx.encode.session import Encoders


@pytest.fixture(scope="session")
def bsx_at_least() -> Callable[..., dict[str, float]]:
    """Return a function that fails a test if texts score worse than they should; of error rates, that is higher.

    Its arguments are the bounds (metric -> score), candidates, and references and sources as the metrics need them, and
    ``model`` and ``lang``. It returns the scores. Models are loaded once in a session.
    """
    kept: dict[tuple[str | None, str | None], Encoders] = {}

    def check(
        bounds: Mapping[str, float],
        candidates: Texts,
        references: References | None = None,
        sources: Texts | None = None,
        *,
        model: str | None = None,
        lang: str | None = None,
    ) -> dict[str, float]:
        from bsx.encode.session import Encoders
        from bsx.metrics.base import get_metrics
        from bsx.metrics.gates import shortfall

        __tracebackhide__ = True
        if (model, lang) not in kept:
            kept[model, lang] = Encoders(model=model, lang=lang)
        scores, missed = {}, []
        for metric in get_metrics(list(bounds), encoders=kept[model, lang]):
            scores[metric.spec] = metric.score(candidates, references, sources).system
            short = shortfall(scores[metric.spec], bounds[metric.spec], metric.higher_is_better)
            missed += [f"{metric.spec} is {short}"] if short else []
        if missed:
            pytest.fail("\n".join(missed), pytrace=False)
        return scores

    return check
