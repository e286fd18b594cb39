"""The Eval4NLP 2021 shared task: translations with human scores and the words that annotators marked as errors."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path, PurePath

from bsx.analysis.datasets.judged import Builder, JudgedTable, pair_in_name
from bsx.data import cells
from bsx.data.lines import NamedFile, check_line_counts, line_list
from bsx.errors import InputError

_NEEDED = ("src", "mt", "da", "src-tags", "tgt-tags")
_TEXTS = {"pe": "post_edit", "src-mt.alignments": "alignment"}


def load_eval4nlp(path: Path | str, *, lp: str | None = None, name: str | None = None) -> JudgedTable:
    """Load a part of the shared task as it was published: a folder such as ``ro-en-dev``, or its .tar.gz.

    The files are parallel, one segment a line: ``dev.src``, ``.mt``, ``.da`` (which becomes ``human``, 0 to 100),
    ``.src-tags`` and ``.tgt-tags`` (the columns ``source_tags`` and ``target_tags``: 1 for each word that is an error,
    else 0), and where they are there ``.hter``, ``.pe`` (``post_edit``) and ``.src-mt.alignments`` (``alignment``).
    Texts are tokenised, with spaces between words. A malformed line cannot be skipped: it would shift all others.

    Source: Fomicheva et al. 2021.

    Args:
        path: the folder or archive.
        lp: the language pair; the one in its name unless given.
        name: name of the data set; the path's unless given.

    Raises:
        InputError: naming file and line of a score that is none, or of tags that do not fit the words; a file that is
            missing, or has another number of lines.
    """
    place = Path(path)
    inside = sorted(place.iterdir()) if place.is_dir() else []
    files = {PurePath(file): line_list(file) for file in inside if _known(file)} if place.is_dir() else _archive(place)
    parts = sorted({file.name.partition(".")[0] for file in files if file.name.endswith(".mt")})
    if len(parts) != 1:
        raise InputError(
            f"needs exactly one file PART.mt, has {len(parts)}; is this a folder like ro-en-dev?", file=path
        )
    results = {file.name.removeprefix(f"{parts[0]}."): (str(place / file.name), lines) for file, lines in files.items()}
    if lost := [kind for kind in _NEEDED if kind not in results]:
        raise InputError(f"has no {parts[0]}.{lost[0]}", file=path)
    kinds = [kind for kind in (*_NEEDED, "hter", *_TEXTS) if kind in results]
    check_line_counts({results[kind][0]: len(results[kind][1]) for kind in kinds})
    stem = place.name.removesuffix(".gz").removesuffix(".tar")
    builder = Builder(path, name or stem)
    for i in range(len(results["mt"][1])):
        line = {kind: results[kind][1][i] for kind in kinds}
        where = {kind: f"{results[kind][0]}: line {i + 1}" for kind in kinds}
        builder.add(
            lp=lp or pair_in_name(stem),
            testset=parts[0],
            segment=str(i + 1),
            source=line["src"],
            candidate=line["mt"],
            human=cells.number(line["da"], where["da"]),
            source_tags=_tags(line["src-tags"], line["src"], where["src-tags"]),
            target_tags=_tags(line["tgt-tags"], line["mt"], where["tgt-tags"]),
            hter=cells.number(line["hter"], where["hter"]) if "hter" in line else None,
            **{column: line.get(kind) for kind, column in _TEXTS.items()},
        )
    return builder.finish()


def _archive(place: Path) -> dict[PurePath, list[str]]:
    results: dict[PurePath, list[str]] = {}
    file = NamedFile(place)
    opened = gzip.open if file.packed else open
    try:
        with opened(file.stored, "rb") as stream, tarfile.open(fileobj=stream) as packed:
            for member in packed:
                content = packed.extractfile(member) if _known(PurePath(member.name)) else None
                if content is not None:
                    results[PurePath(member.name)] = content.read().decode("utf-8").removesuffix("\n").split("\n")
    except (tarfile.TarError, EOFError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: is not a whole .tar.gz of files in UTF-8 ({error})") from error
    return results


def _known(file: PurePath) -> bool:
    return file.name.partition(".")[2] in (*_NEEDED, "hter", *_TEXTS)


def _tags(tags: str, text: str, where: str) -> str:
    marks, words = tags.split(), text.split()
    if len(marks) != len(words) or not set(marks) <= {"0", "1"}:
        raise InputError(f"{where}: {len(marks)} tags of 0 and 1 are due for {len(words)} words")
    return " ".join(marks)
