"""``bsx metrics fit-alignment``: a map between the vectors of two languages, from parallel text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def fit_alignment(
    source: Annotated[str, typer.Option("-s", "--source", help="File of source sentences, one a line.")],
    target: Annotated[str, typer.Option("-t", "--target", help="File of their translations, one a line.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the map (.safetensors).")],
    model: Annotated[str | None, typer.Option("-m", "--model", help="Encoder of both languages.")] = None,
    layer: Annotated[int | None, typer.Option(help="Layer; the top one unless given.")] = None,
    kind: Annotated[Literal["clp", "umd"], typer.Option(help="An orthogonal matrix, or one direction to remove.")] = (
        "clp"
    ),
    links: Annotated[
        str | None, typer.Option(help="File of word links, i-j pairs a line; by mutual nearest vectors unless given.")
    ] = None,
    pairs: Annotated[int, typer.Option(help="Use this many sentence pairs, the first ones.")] = 2000,
    max_words: Annotated[int, typer.Option(help="Leave out pairs with a longer side.")] = 100,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
    registry: Annotated[Path | None, typer.Option(help="Folder laid over the registry.")] = None,
) -> None:
    """Fit the map that xmoverscore:mapping=…,mapping_file=… applies to the source's vectors."""
    from bsx.catalog.catalog import load_registry
    from bsx.cli.progress import progress_bar
    from bsx.data.lines import LineFiles, NamedFile
    from bsx.encode.session import Encoders
    from bsx.errors import InputError
    from bsx.metrics.embedding.fit_mapping import Settings, fit, read_links

    if output.suffix != ".safetensors":
        raise InputError(f"{output}: the name of a map must end in .safetensors")
    if not output.parent.is_dir():
        raise InputError(f"{output}: the folder {output.parent} does not exist")
    corpus = LineFiles({"target": NamedFile(target)}, [NamedFile(source)])
    texts = [(segment.references[0], segment.candidates[0]) for segment in corpus]
    given = read_links(NamedFile(links), texts) if links is not None else None
    encoders = Encoders(model=model, device=device, registry=load_registry(registry))
    settings = Settings(kind=kind, layer=layer, pairs=pairs, max_words=max_words)
    with progress_bar() as report:
        mapping = fit(texts, encoders, settings, links=given, progress=report)
    mapping.save(output)
    for name, value in mapping.facts.items():
        print(f"{name}: {value}")
    print(f"{output}: {kind} map {mapping.digest}")
