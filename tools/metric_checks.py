"""Write into every registry/metrics/ file what its metric scores on the tiny models: the values of its ``check``.

Run: python tools/metric_checks.py            (writes ``check.values`` into each file)
     python tools/metric_checks.py --check    (fails if a file lacks them, or they differ by more than its tolerance)

The tiny models are those of tests/helpers/tiny.py: random, seeded, built in a temporary folder. Metrics that run in an
environment of their own (COMET, LASER) are left alone. The figures say that a metric still computes what it computed;
that this is right is shown by the tests against independent implementations.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
METRICS = ROOT / "registry" / "metrics"
sys.path.insert(0, str(ROOT))
VALUES = re.compile(r"^  values:.*\n", re.MULTILINE)


def computed(text: str, models: Path) -> list[float] | None:
    """Return the scores of an entry's check, rounded to six digits after the point; None if they cannot be had here."""
    from bsx.catalog.catalog import shipped
    from bsx.catalog.entries.metrics import MetricEntry
    from bsx.metrics.base import find_metric, get_metric
    from bsx.metrics.judging.endpoint import JudgeConfig
    from bsx.metrics.learned.external import ExternalConfig
    from tests.helpers import tiny

    entry = MetricEntry.model_validate(yaml.safe_load(text))
    if issubclass(find_metric(entry.name, shipped())[0].Config, ExternalConfig | JudgeConfig):
        return None
    check = entry.check
    settings = dict(check.settings)
    if check.model is not None:
        folder = models / check.model
        if not folder.exists():
            tiny.build(check.model, folder)
        config = find_metric(entry.name, shipped())[0].Config
        field = "model" if "model" in config.model_fields else config.positional
        settings[str(field)] = str(folder)
    metric = get_metric(entry.name, **settings)
    scores = metric.score(check.candidates, check.references, check.sources)
    return [round(value, 6) for value in scores]


def main() -> None:
    from transformers.utils import logging

    logging.disable_progress_bar()
    check = sys.argv[1:] == ["--check"]
    stale = []
    files = sorted(METRICS.glob("*.yaml"))
    with tempfile.TemporaryDirectory() as models:
        for file in files:
            text = file.read_text(encoding="utf-8")
            if len(VALUES.findall(text)) != 1:
                raise SystemExit(f"{file}: has not exactly one line '  values: …' under check")
            values = computed(text, Path(models))
            if values is None:
                continue
            said = yaml.safe_load(text)["check"]
            if not check:
                file.write_text(VALUES.sub(f"  values: {values}\n", text), encoding="utf-8")
                continue
            tolerance = said.get("tolerance", 1e-4)
            same = said["values"] is not None and len(said["values"]) == len(values)
            if not same or any(abs(a - b) > tolerance for a, b in zip(said["values"], values, strict=True)):
                stale.append(f"{file.name} says {said['values']}, computed {values}")
    if stale:
        raise SystemExit("not as computed: " + "; ".join(stale))
    print(f"{len(files)} metrics")


if __name__ == "__main__":
    main()
