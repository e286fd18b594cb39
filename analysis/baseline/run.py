"""The baseline that rescaling needs: mean scores of random pairs of sentences, for every layer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from bsx.analysis.tune.run import OnEveryLayer
from bsx.bertscore.baseline import BaselineResult, BaselineRun
from bsx.catalog.languages import find_language
from bsx.catalog.overlay import overlay_folder, write_entry
from bsx.data.lines import NamedFile
from bsx.data.run import as_one_run, check_output
from bsx.frames.settings import Reported
from bsx.support.progress import reporter
from bsx.support.settings import Option, Seeded, settled

_DETAIL = Option(folded="detail")


class BaselineSettings(Seeded, OnEveryLayer, Reported):
    """Settings of `baseline`: how it is computed, and where it is kept."""

    python_only = (*OnEveryLayer.python_only, "idf", "multi_ref")

    corpus: Annotated[str | Path, Field(description="Sentences of the language, one per line.")]
    domain: Annotated[
        str | None, Field(description="What the sentences are, such as news; kept with the baseline."), _DETAIL
    ] = None
    pairs: Annotated[int, Field(ge=2, le=10**9, description="Random pairs to score.")] = 1_000_000
    tolerance: Annotated[
        float | None, Field(ge=0, le=1, description="Stop when every standard error is at most this."), _DETAIL
    ] = None
    state: Annotated[
        Path | None,
        Field(description="File that keeps the sums, so that a run can go on."),
        Option(writable=True),
    ] = None
    write: Annotated[bool, Field(description="Write the baseline to the overlay registry.")] = False


@settled(BaselineSettings)
@as_one_run
def baseline(settings: BaselineSettings) -> BaselineResult:
    """Compute a rescaling baseline: the mean scores of random pairs of a corpus' sentences, for every layer.

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
    run.run(settings.pairs, tolerance=settings.tolerance, progress=reporter(settings.progress))
    result = run.result(language.code, Path(settings.corpus).name, settings.domain)
    if settings.write:
        settings.say(f"written: {write_entry(result, settings.registry)}")
        if state is not None:
            state.unlink(missing_ok=True)
    errors = run.standard_error()[:, 2].tolist()
    return BaselineResult(**result.model_dump(), pairs=run.pairs, seed=seed, standard_error=errors)
