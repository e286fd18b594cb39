"""The baseline that rescaling needs: mean scores of random pairs of sentences, for every layer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.bertscore.baseline import BaselineRun
from bsx.bertscore.config import FIGURES
from bsx.catalog.entries.models import Baseline
from bsx.catalog.languages import find_language
from bsx.catalog.overlay import overlay_folder, write_baseline
from bsx.data.lines import NamedFile
from bsx.data.run import as_one_run, check_output
from bsx.jobs.layers import OnEveryLayer
from bsx.jobs.tables import Reported
from bsx.support.aligned import text_table
from bsx.support.progress import told
from bsx.support.settings import Option, Seeded, settled


class BaselineSettings(Seeded, OnEveryLayer, Reported):
    """Settings of `baseline`: how it is computed, and where it is kept."""

    corpus: Annotated[str | Path, Field(description="Sentences of the language, one per line.")]
    domain: Annotated[
        str | None, Field(description="What the sentences are, such as news; kept with the baseline.")
    ] = None
    pairs: Annotated[int, Field(ge=2, le=10**9, description="Random pairs to score.")] = 1_000_000
    tolerance: Annotated[
        float | None, Field(ge=0, le=1, description="Stop when every standard error is at most this.")
    ] = None
    state: Annotated[
        Path | None,
        Field(description="File that keeps the sums, so that a run can go on."),
        Option(writable=True),
    ] = None
    write: Annotated[bool, Field(description="Write the baseline to the overlay registry.")] = False


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
        """Return a table of the layers."""
        rows = [["layer", *FIGURES, "s.e. of f1"]]
        for layer, figures in enumerate(zip(*(getattr(self.entry, name) for name in FIGURES), strict=True)):
            error = f"{self.standard_error[layer, 2]:.5f}"
            rows.append([str(layer), *(f"{value:.4f}" for value in figures), error])
        entry, largest = self.entry, float(np.max(self.standard_error[:, 2]))
        of = "" if entry.domain is None else f" of {entry.domain}, {entry.tokens} tokens a text"
        said = (
            f"Pairs of sentences that have nothing to do with each other score F1 from {min(entry.f1):.4f} to "
            f"{max(entry.f1):.4f} by layer ({self.model}, {self.language}{of}; {self.pairs:,} random pairs, standard "
            f"errors up to {largest:.5f})."
        )
        return f"{said}\n\n{text_table(rows, 'r')}"


@settled(BaselineSettings)
@as_one_run
def baseline(settings: BaselineSettings) -> ComputedBaseline:
    """Score random pairs of a corpus' sentences with every layer.

    Args:
        settings: see `BaselineSettings`; a baseline that is written has its ``state`` beside it.

    Raises:
        InputError: for a corpus or state that cannot be used.
        UnknownNameError: for an unknown model or language.
    """
    state, seed = settings.state, settings.seed
    if state is not None:
        check_output(state)
    sentences = list(NamedFile(settings.corpus).lines())
    catalog = settings.catalog()
    entry, language = catalog.model(settings.model), find_language(settings.lang, catalog)
    if state is None and settings.write:
        state = overlay_folder(settings.registry) / f".{language.code}-{entry.name}-{seed}.baseline-state.json"
    scorer = settings.scorer(entry.name, language.code, catalog)
    run = BaselineRun(scorer, sentences, seed=seed, state=state)
    for note in (*scorer.notes, *([f"going on after {run.pairs} pairs ({state})"] if run.pairs else [])):
        settings.say(note)
    run.run(settings.pairs, tolerance=settings.tolerance, progress=told(settings.progress))
    result = run.result(language.code, Path(settings.corpus).name, settings.domain)
    file = None
    if settings.write:
        file = write_baseline(result, settings.registry)
        run.finish()
    return ComputedBaseline(result, entry.name, language.name, run.pairs, seed, run.standard_error(), file)
