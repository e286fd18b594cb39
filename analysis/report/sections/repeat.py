"""How to repeat a report: commands, versions, digests, seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bsx.analysis.present.cells import NONE, settings_line, table, text
from bsx.analysis.present.parts import Commands, Section
from bsx.analysis.report.documents import Document, ScoreRows
from bsx.support.provenance import Provenance


def _origin(document: Document) -> Provenance | None:
    content = document.content
    if isinstance(content, ScoreRows):
        return content.sidecar.provenance if content.sidecar is not None else None
    return content.provenance


def repeat(documents: Sequence[Document], origin: Mapping[str, object] | None, alignment: str | None) -> Section:
    """Return the section on repeating the report.

    Args:
        documents: the inputs.
        origin: the report's own `bsx.support.provenance.provenance`, if it comes from the command line.
        alignment: signature of the token alignments.
    """
    section = Section("repeat", "How to repeat this")
    origins = [(document, _origin(document)) for document in documents]
    commands = list(dict.fromkeys(found.command for _, found in origins if found is not None))
    own = None if origin is None else Provenance.read(origin)
    if own is not None:
        commands.append(own.command)
    unknown = [document.name for document, found in origins if found is None]
    section.lead = f"The commands that made the {len(documents)} inputs of this report, in the order given."
    if unknown:
        section.lead += f" How {', '.join(unknown)} came about is not known: there is no provenance beside it."
    section.blocks.append(Commands(tuple(commands)))
    rows = []
    for document, found in origins:
        kind = found.kind if found is not None else "scores"
        rows.append([text(document.name), text(kind), text(_seed(document)), text(document.sha256 or NONE, code=True)])
    section.blocks.append(table("Inputs of this report", ["file", "kind", "seed", "sha256"], rows, sortable=False))
    found_settings = [[text(document.name), text(said)] for document in documents if (said := _settings(document))]
    if found_settings:
        caption = "Settings of the results"
        section.blocks.append(table(caption, ["file", "settings"], found_settings, sortable=False, folded=True))
    read = {(file.name, file.sha256): None for _, found in origins if found is not None for file in found.files}
    if read:
        digests = [[text(name), text(digest, code=True)] for name, digest in read]
        section.blocks.append(
            table("Data that the commands read", ["file", "sha256"], digests, sortable=False, folded=True)
        )
    versions: dict[str, dict[str, list[str]]] = {}
    for name, found_versions in [
        *((document.name, found.versions) for document, found in origins if found is not None),
        *([("this report", own.versions)] if own is not None else []),
    ]:
        for package, version in found_versions.items():
            versions.setdefault(package, {}).setdefault(version, []).append(name)
    if versions:
        rows = [
            [text(package), text(version), text("all" if len(by) == 1 else ", ".join(names))]
            for package, by in versions.items()
            for version, names in by.items()
        ]
        section.blocks.append(table("Versions", ["package", "version", "in"], rows, sortable=False, folded=True))
    if alignment is not None:
        signature = [[text("token alignments"), text(alignment, code=True)]]
        section.blocks.append(table("Signature of the alignments", ["what", "signature"], signature, sortable=False))
    return section


def _settings(document: Document) -> str:
    return "" if isinstance(document.content, ScoreRows) else settings_line(document.content.settings)


def _seed(document: Document) -> str:
    content = document.content
    if isinstance(content, ScoreRows):
        return NONE
    seed = getattr(content, "seed", None) or content.settings.get("seed")
    return NONE if seed is None else str(seed)
