"""From documents to a report, and from a report to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bsx.analysis.report.agreement import agreement
from bsx.analysis.report.alignments import Align, Aligner
from bsx.analysis.report.blocks import Prose, Section
from bsx.analysis.report.documents import Document
from bsx.analysis.report.ensembles import ensembles
from bsx.analysis.report.profiles import profiles
from bsx.analysis.report.repeat import repeat
from bsx.analysis.report.robustness import robustness
from bsx.analysis.report.scored import compared, scored, segments
from bsx.analysis.report.shapes import Perturb, Triples
from bsx.errors import InputError

SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}


@dataclass(frozen=True)
class Report:
    """A report, to be written as HTML or Markdown.

    Attributes:
        title: its heading.
        sections: what it says.
    """

    title: str
    sections: tuple[Section, ...]

    def to_html(self) -> str:
        """Return one page that needs nothing but itself.

        Raises:
            MissingExtraError: if the packages of the extra ``report`` are missing.
        """
        from bsx.analysis.report.html import page

        return page(self)

    def to_markdown(self) -> str:
        """Return the same content without charts, and of long tables of segments only the first rows."""
        from bsx.analysis.report.markdown import markdown

        return markdown(self)

    def save(self, path: str | Path, format: str | None = None) -> None:
        """Write the report; the file appears when it is complete.

        Args:
            path: .html or .md.
            format: ``html`` or ``markdown``, for names that do not say it.

        Raises:
            InputError: for another ending without a format, or an unwritable place.
        """
        from bsx.table import atomic_text

        chosen = which_format(Path(path), format)
        content = self.to_html() if chosen == "html" else self.to_markdown()
        with atomic_text(Path(path)) as stream:
            stream.write(content)


def which_format(path: Path, format: str | None) -> str:
    """Return the format of a file, by its name unless it is said.

    Raises:
        InputError: if the name does not say.
    """
    if format is not None:
        return format
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: cannot tell the format; the name must end in .html or .md, or say --format")
    return SUFFIXES[path.suffix.lower()]


def has_examples(document: Document) -> bool:
    """Return whether a document has examples whose tokens could be aligned."""
    return isinstance(document.content, Triples | Perturb) and bool(document.content.worst)


def build_report(
    documents: Sequence[Document],
    *,
    title: str = "Evaluation report",
    align: Align | None = None,
    examples: int = 10,
    origin: Mapping[str, Any] | None = None,
) -> Report:
    """Put a report together.

    Args:
        documents: from `bsx.analysis.report.read_document`.
        title: its heading.
        align: from candidate and reference to the token alignment, as ``Scorer(...).align(c, r).to_dict()`` gives it;
            None leaves alignments out.
        examples: how many of the worst examples to show of each document on robustness, and to align in all.
        origin: where the report itself comes from, see `bsx.provenance.provenance`.

    Raises:
        InputError: if there is nothing to report on.
    """
    if not documents:
        raise InputError("a report needs at least one table of scores or document of results")
    aligner = Aligner(align, examples)
    robust = robustness(documents, aligner, examples)
    if robust is not None and not aligner.wanted:
        robust.blocks.append(Prose("Token alignments of the examples were not asked for (--align MODEL adds them)."))
    elif robust is not None and aligner.left_out:
        robust.blocks.append(
            Prose(f"Token alignments are drawn for {examples} examples, not for the other {aligner.left_out}.")
        )
    found = [
        scored(documents),
        agreement(documents),
        compared(documents),
        profiles(documents),
        robust,
        ensembles(documents),
        segments(documents),
        repeat(documents, origin, aligner.signature),
    ]
    return Report(title, tuple(section for section in found if section is not None))
