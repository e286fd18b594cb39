"""A map between the vectors of two languages, fitted on parallel text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import language_pair
from bsx.data.files import LineFiles
from bsx.data.lines import NamedFile
from bsx.data.run import as_one_run, check_output
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.tables import Watched
from bsx.metrics.embedding.fit_mapping import MappingSettings, fit, read_links
from bsx.metrics.embedding.mapping import Mapping
from bsx.support.progress import told
from bsx.support.settings import Option, part, settled


class AlignmentSettings(RunConfig, MappingSettings, Watched):
    """Settings of `fit_alignment`."""

    sources: Annotated[str | Path, Field(description="File of source sentences, one per line."), Option(("-s",))]
    targets: Annotated[str | Path, Field(description="File of their translations, one per line."), Option(("-t",))]
    output: Annotated[Path, Field(description="Where to write the map (.safetensors)."), Option(("-o",), writable=True)]
    model: Annotated[str | None, Field(description="Encoder of both languages."), Option(("-m",))] = None
    links: Annotated[
        str | Path | None,
        Field(description="File of word links, i-j pairs on each line; by mutual nearest vectors unless given."),
    ] = None
    lang: Annotated[
        str | None,
        Field(description="The two languages, source first: de-en; kept with the map, which tells other uses by it."),
        Option(("-l",)),
    ] = None


@settled(AlignmentSettings)
@as_one_run
def fit_alignment(settings: AlignmentSettings) -> Mapping:
    """Fit and save the map that ``xmoverscore:mapping=…,mapping_file=…`` applies to the source's vectors.

    Args:
        settings: see `AlignmentSettings`.

    Raises:
        InputError: for files that do not fit together or a place that cannot be written to.
    """
    output, lang = settings.output, settings.lang
    if output.suffix != ".safetensors":
        raise InputError(f"{output}: the name of a map must end in .safetensors")
    check_output(output)
    languages = {} if lang is None else dict(zip(("source", "target"), language_pair(lang), strict=True))
    corpus = LineFiles({"target": NamedFile(settings.targets)}, [NamedFile(settings.sources)])
    texts = [(segment.references[0], segment.candidates[0]) for segment in corpus]
    links = read_links(NamedFile(settings.links), texts) if settings.links is not None else None
    run = part(settings, RunConfig) | {"registry": load_registry(settings.registry)}
    encoders = Encoders(model=settings.model, **run)
    how = MappingSettings(**part(settings, MappingSettings))
    mapping = fit(texts, encoders, how, links=links, progress=told(settings.progress))
    mapping = replace(mapping, facts={**mapping.facts, **languages})
    mapping.save(output)
    return mapping
