"""A map between the vectors of two languages, fitted on parallel text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import language_pair
from bsx.data.files import LineFiles
from bsx.data.lines import NamedFile
from bsx.data.run import as_one_run, check_output
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.metrics.embedding.fit_mapping import MappingSettings, fit, read_links
from bsx.metrics.embedding.mapping import Mapping
from bsx.support.progress import Watch, told
from bsx.support.settings import in_range


@in_range
@as_one_run
def fit_alignment(
    source: str | Path,
    target: str | Path,
    output: Path,
    *,
    model: str | None = None,
    layer: int | None = None,
    kind: Literal["clp", "umd"] = "clp",
    links: str | Path | None = None,
    pairs: int = 2000,
    max_words: int = 100,
    lang: str | None = None,
    device: str = "auto",
    registry: Path | None = None,
    progress: Watch = None,
) -> Mapping:
    """Fit and save the map that ``xmoverscore:mapping=…,mapping_file=…`` applies to the source's vectors.

    Args:
        source: file of source sentences, one a line.
        target: file of their translations, one a line.
        output: where to write the map (.safetensors).
        model: encoder of both languages.
        layer: its layer; the top one unless given.
        kind: an orthogonal matrix, or one direction to remove.
        links: file of word links, i-j pairs a line; by mutual nearest vectors unless given.
        pairs: use this many sentence pairs, the first ones.
        max_words: leave out pairs with a longer side.
        lang: the two languages, source first, as ``de-en``; kept with the map, which tells other uses by it.
        device: where to run.
        registry: a folder to lay over the registry.
        progress: called with phase, done and total; True draws bars.

    Raises:
        InputError: for files that do not fit together or a place that cannot be written to.
    """
    progress = told(progress)
    if output.suffix != ".safetensors":
        raise InputError(f"{output}: the name of a map must end in .safetensors")
    check_output(output)
    languages = {} if lang is None else dict(zip(("source", "target"), language_pair(lang), strict=True))
    corpus = LineFiles({"target": NamedFile(target)}, [NamedFile(source)])
    texts = [(segment.references[0], segment.candidates[0]) for segment in corpus]
    given = read_links(NamedFile(links), texts) if links is not None else None
    encoders = Encoders(model=model, device=device, registry=load_registry(registry))
    settings = MappingSettings(kind=kind, layer=layer, pairs=pairs, max_words=max_words)
    mapping = fit(texts, encoders, settings, links=given, progress=progress)
    mapping = replace(mapping, facts={**mapping.facts, **languages})
    mapping.save(output)
    return mapping
