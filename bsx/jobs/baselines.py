"""The baseline that rescaling needs: mean scores of random pairs of sentences, for every layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from bsx.bertscore.baseline import FIGURES, BaselineRun
from bsx.bertscore.config import ScorerConfig
from bsx.bertscore.scorer import Scorer
from bsx.catalog.catalog import load_registry
from bsx.catalog.entries.models import Baseline
from bsx.catalog.languages import find_language
from bsx.catalog.overlay import overlay_folder, write_baseline
from bsx.data.lines import NamedFile
from bsx.data.run import as_one_run, check_output
from bsx.jobs.settings.layers import BaselineSettings
from bsx.support.aligned import text_table
from bsx.support.progress import Watch, told
from bsx.support.settings import complete, set_fields, takes


@dataclass(frozen=True, eq=False)
class ComputedBaseline:
    """A baseline, and how sure it is.

    Attributes:
        entry: what the registry keeps.
        model: name of the model.
        language: name of the language.
        pairs: how many pairs were scored.
        seed: of the pairs.
        standard_error: (layers, 3) of precision, recall and F1.
        file: where it was written, if it was.
    """

    entry: Baseline
    model: str
    language: str
    pairs: int
    seed: int
    standard_error: NDArray[np.float64]
    file: Path | None = None

    def to_dict(self) -> dict[str, object]:
        """Return everything, for other programs."""
        return {**self.entry.model_dump(), "pairs": self.pairs, "seed": self.seed}

    def to_text(self) -> str:
        """Return a table of the layers, for people."""
        rows = [["layer", *FIGURES, "s.e. of f1"]]
        for layer, figures in enumerate(zip(*(getattr(self.entry, name) for name in FIGURES), strict=True)):
            error = f"{self.standard_error[layer, 2]:.5f}"
            rows.append([str(layer), *(f"{value:.4f}" for value in figures), error])
        return f"{self.model}, {self.language}: {self.pairs} pairs\n{text_table(rows, 'r')}"


@as_one_run
@takes(BaselineSettings)
def baseline(
    model: str,
    *,
    lang: str,
    corpus: str | Path,
    registry: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    notify: Callable[[str], None] | None = None,
    **how: Unpack[BaselineSettings],
) -> ComputedBaseline:
    """Score random pairs of a corpus' sentences with every layer.

    Args:
        model: registry name or alias.
        lang: language of the sentences.
        corpus: file of sentences, one a line.
        registry: overlay folder to read and write; the user's own unless given.
        settings: of the scorer and where it runs; model, language, registry and layer are said here.
        progress: called with phase, done and total; True draws bars.
        notify: told what the user should know.
        **how: pairs, precision, and what is kept; a baseline that is written has its ``state`` beside it.

    Raises:
        InputError: for a corpus or state that cannot be used.
        UnknownNameError: for an unknown model or language.
    """
    progress = told(progress)
    asked = complete(how, BaselineSettings)
    state, write, seed = asked["state"], asked["write"], asked["seed"]
    if state is not None:
        check_output(state)
    sentences = list(NamedFile(corpus).lines())
    catalog = load_registry(registry if registry is not None and registry.is_dir() else None)
    entry, language = catalog.model(model), find_language(lang, catalog)
    if state is None and write:
        state = overlay_folder(registry) / f".{language.code}-{entry.name}-{seed}.baseline-state.json"
    given = set_fields(settings, "model", "lang", "registry", "layer", "all_layers")
    scorer = Scorer(model=entry.name, lang=language.code, all_layers=True, registry=catalog, **given)
    run = BaselineRun(scorer, sentences, seed=seed, state=state)
    if notify is not None:
        for note in (*scorer.notes, *([f"going on after {run.pairs} pairs ({state})"] if run.pairs else [])):
            notify(note)
    run.run(asked["pairs"], tolerance=asked["tolerance"], progress=progress)
    result = run.result(language.code, Path(corpus).name)
    file = None
    if write:
        file = write_baseline(result, registry)
        run.finish()
    return ComputedBaseline(result, entry.name, language.name, run.pairs, seed, run.standard_error(), file)
