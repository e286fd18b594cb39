"""Files in: uploads streamed to the folder of a run, what they hold, and which column is what."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import get_args

from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import find_language
from bsx.data.formats.preview import Preview, PreviewColumn, preview
from bsx.data.lines import NamedFile, check_line_counts
from bsx.data.naming import role_of_file
from bsx.data.output import atomic_path, atomic_text
from bsx.data.tables import TABLE_FORMATS, Table
from bsx.data.writing import detect_language
from bsx.errors import BsxError, InputError
from bsx.support.optional import need
from bsx.ui.encodings import convert, guesses
from bsx.ui.workspace import Choices, Joined, Key, Run, Size, StoredFile, Workspace

TEXTS = "input.jsonl"
"""The table that texts of a line a segment, or several tables, are put together in."""
JOINED = "the joined tables"
_ROWS = 8  # of a file that are shown
_CELL = 400  # characters of a cell that are shown
_MOST = 64  # files of a run
_ROLES = {"candidate": "candidates", "reference": "references", "source": "source"}
_PROBLEMS = 3  # of a file that are shown
_SINGLE = ("sheet", "source", "document", "system", "segment", "lang", "source_lang")  # what a form says once
_PATIENCE = 60.0  # seconds that an upload may stand still
_ARRIVING: set[Path] = set()  # what is being uploaded and is in no record yet: no two have one name


@dataclass(frozen=True)
class Inputs:
    """The files of a run, as far as they are understood.

    Attributes:
        table: whether they are one table; otherwise they are texts of a line a segment.
        seen: stored name -> its first rows.
        main: stored name of the table whose columns are chosen; empty for texts.
        encodings: stored name -> in which encodings it may be, see `bsx.ui.encodings.guesses`.
        choices: columns and languages, chosen or found.
        notes: what was found, a sentence each.
        problems: what stands in the way, a sentence each.
    """

    table: bool
    seen: Mapping[str, Preview]
    choices: Choices
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    main: str = ""
    encodings: Mapping[str, list[tuple[str, str, list[str]]]] = field(default_factory=dict)


def warm_up() -> None:
    """Load what the first file needs, while its owner still looks for it."""
    with contextlib.suppress(BsxError):  # what is not installed is said when it is needed
        need("openpyxl", "reading spreadsheets")
        detect_language(["This is a sentence."])


def is_table(stored: str) -> bool:
    """Tell whether a file is a table by the end of its name."""
    return PurePosixPath(stored.removesuffix(".gz")).suffix in TABLE_FORMATS


async def store(run: Run, name: str, body: AsyncIterator[bytes]) -> StoredFile:
    """Write an upload into the folder of a run, under a name that bsx chooses.

    Args:
        run: where it goes.
        name: as the user calls it.
        body: its bytes, as they come.

    Raises:
        InputError: if the disk is full, there are too many files, or nothing comes any more.
    """
    stored = _new_name(run, name)
    path = run.file(stored)
    _ARRIVING.add(path)
    try:
        with atomic_path(path, internal=True) as temporary, temporary.open("wb") as stream:
            try:
                while True:
                    stream.write(await asyncio.wait_for(anext(body), _PATIENCE))
            except StopAsyncIteration:
                pass
            except TimeoutError as error:
                raise InputError(f"The upload of {_shown(name)} has stood still for too long: try again.") from error
            size = stream.tell()
        return _added(run, StoredFile(name=_shown(name), stored=stored, size=size))
    finally:
        _ARRIVING.discard(path)


def copy_in(run: Run, path: Path) -> StoredFile:
    """Copy a file of this machine into the folder of a run.

    Raises:
        InputError: if it cannot be read.
    """
    NamedFile(path)
    stored = _new_name(run, path.name)
    with atomic_path(run.file(stored), internal=True) as temporary:
        shutil.copyfile(path, temporary)
        size = temporary.stat().st_size
    return _added(run, StoredFile(name=_shown(path.name), stored=stored, size=size))


def copy_of(workspace: Workspace, run: Run) -> Run:
    """Return a new run with the files and choices of another.

    Raises:
        InputError: if one of the files is not there any more.
    """
    record = run.record
    paths = [run.file(file.stored) for file in record.files]
    for file, path in zip(record.files, paths, strict=True):
        if not path.is_file():
            raise InputError(f"{file.name} is not in the folder of this run any more: begin a new one with it.")
    made = workspace.new(record.title)
    for path in paths:
        with atomic_path(made.file(path.name), internal=True) as temporary:
            shutil.copyfile(path, temporary)
    made.update(files=record.files, choices=record.choices, joined=record.joined, size=record.size)
    return made


def remove(run: Run, stored: str) -> None:
    """Remove a file that was handed in."""
    record = run.record
    if any(file.stored == stored for file in record.files):
        run.file(stored).unlink(missing_ok=True)
        files = tuple(file for file in record.files if file.stored not in (stored, TEXTS))
        run.update(files=files, choices=Choices(), joined=None)


def read_as(run: Run, stored: str, encoding: str) -> None:
    """Take a file of texts in another encoding than UTF-8: it is kept in UTF-8.

    Raises:
        InputError: if it is not in this encoding.
    """
    files = {file.stored: file for file in run.record.files}
    if stored in files:
        try:
            convert(run.file(stored), encoding, files[stored].encoding)
        except InputError as error:
            raise InputError(as_called(run, str(error))) from error
        files[stored] = files[stored].model_copy(update={"encoding": encoding})
        run.update(files=tuple(files.values()), joined=None, choices=Choices())


def understand(
    run: Run,
    sheet: str | None = None,
    given: Mapping[str, Sequence[str]] | None = None,
    key: str | None = None,
    again: str | None = None,
) -> Inputs:
    """Look at the files of a run: columns, roles and languages, those that were chosen before those that are found.

    Several tables are joined to one.

    Args:
        run: whose files they are.
        sheet: of a spreadsheet, the sheet to look at instead of the one that was chosen.
        key: join several tables by this, not by what was chosen or found.
        again: ask once more for the encoding of this file.
        given: a form, see `settle`, that could not be stored: it is shown as it was filled in.
    """
    record = run.record
    choices = record.choices if sheet is None else Choices(sheet=sheet)
    if given is not None:
        choices = _from_form(given)
    files = [file for file in record.files if file.stored != TEXTS]
    seen = {file.stored: look(run, file, choices.sheet) for file in files}
    asked = {file.stored: file.encoding for file in files if seen[file.stored].problems or file.stored == again}
    encodings = {name: readings for name, was in asked.items() if (readings := guesses(run.file(name), was))}
    tables = [file for file in files if is_table(file.stored)]
    problems = _problems(files, seen, encodings)
    notes = [note for preview in seen.values() for note in preview.notes]
    if len(tables) > 1 and not problems and not encodings:
        try:
            joined = _joined(run, tables, seen, key)
        except BsxError as error:
            problems.append(f"{error} Remove all tables but one, or begin a run for each.")
        else:
            tables, seen = [StoredFile(name=JOINED, stored=TEXTS)], {}
            seen[TEXTS] = look(run, tables[0])
            notes += joined.notes
            if not choices.candidate and given is None:
                codes = {name: _code(getattr(joined.choices, name)) for name in ("lang", "source_lang")}
                choices = joined.choices.model_copy(update=codes)
    main = tables[0].stored if tables else ""
    if problems or encodings or not files:
        return Inputs(bool(tables), seen, choices, tuple(notes), tuple(problems), main, encodings)
    notes += [note for file in tables or files for note in _doubts(file, seen[file.stored])]
    roles: list[tuple[str | None, PreviewColumn]] = []
    if tables:
        choices = choices if given is not None else _chosen_columns(choices, seen[main])
        named = {**dict.fromkeys(choices.candidate, "candidate"), **dict.fromkeys(choices.reference, "reference")}
        named |= {choices.source: "source"} if choices.source is not None else {}
        roles = [(named.get(column.name), column) for column in seen[main].columns]
    else:
        guessed = {file.stored: _ROLES[role_of_file(file.name) or "candidate"] for file in files}
        files = [file.model_copy(update={"role": file.role or guessed[file.stored]}) for file in files]
        run.update(files=(*files, *(file for file in record.files if file.stored == TEXTS)))
        singular = {several: role for role, several in _ROLES.items()}
        roles = [(singular.get(str(file.role)), seen[file.stored].columns[0]) for file in files]
    languages, doubts = _languages(choices, roles)
    choices, notes = choices.model_copy(update=languages), notes + doubts
    if all(role != "reference" for role, _ in roles):
        notes.append(
            "Nothing here looks like references. If there are translations by a person, choose them as references: "
            "most metrics need them."
        )
    return Inputs(bool(tables), seen, choices, tuple(notes), main=main)


def _problems(files: Sequence[StoredFile], seen: Mapping[str, Preview], but: Collection[str]) -> list[str]:
    """Return what stands in the way of taking files, a sentence each; of some not what is wrong with them."""
    problems = [problem for name, preview in seen.items() if name not in but for problem in preview.problems]
    tables = [file for file in files if is_table(file.stored)]
    if tables and len(tables) < len(files):
        problems.append("A run takes tables, or texts with a line a segment, not both: remove the one or the other.")
    if any("if that row is a title" in problem for problem in problems):
        problems = ["No row near the top names all columns. Choose below the row that does, or name them in the file."]
    for file in tables:
        if (preview := seen[file.stored]).columns and not preview.rows and not preview.problems:
            problems.append(f"{file.name} has names of columns, and no rows below them.")
    return problems


def _languages(
    choices: Choices, roles: Sequence[tuple[str | None, PreviewColumn]]
) -> tuple[dict[str, str | None], list[str]]:
    """Return the languages that were not chosen, as columns with their roles have them, and what to know of these."""
    languages, notes = dict[str, str | None](), list[str]()
    for setting, wanted, what in (
        ("lang", ("reference", "candidate"), "candidates and references"),
        ("source_lang", ("source",), "source"),
    ):
        texts = [column for name in wanted for role, column in roles if role == name]
        if getattr(choices, setting) is not None or not texts:
            continue
        known = next((column for column in texts if _code(column.language) is not None), None)
        if known is None:
            notes.append(f"The language of the {what} is not clear from the first rows: choose it.")
            continue
        languages[setting] = _code(known.language)
        if known.detected:
            notes.append(f"The language of the {what} was detected from the texts: correct it if it is wrong.")
    return languages, notes


def _joined(run: Run, tables: Sequence[StoredFile], seen: Mapping[str, Preview], key: str | None = None) -> Joined:
    """Return how several tables are joined, and write them as one if that was not done, or by something else."""
    record = run.record
    joined = record.joined
    way = next((way for way in get_args(Key) if way == key), None)
    if joined is None or (way not in (None, joined.by) and record.is_editable):
        from bsx.ui.joining import TableIn, join

        made = [TableIn(file.name, run.file(file.stored), seen[file.stored]) for file in tables]
        joined = join(made, run.file(TEXTS), way)
        run.update(joined=joined, choices=Choices())
    return joined


def _code(tag: str | None) -> str | None:
    """Return the registry's code of the language that a tag such as ``de-DE`` means; None for none that is known."""
    with contextlib.suppress(BsxError):
        return find_language(tag or "", load_registry()).code
    return None


def look(run: Run, file: StoredFile, sheet: str | None = None) -> Preview:
    """Read the first rows of a file; whatever is wrong with it is told by the name that the user knows."""
    path = run.file(file.stored)
    seen = preview(f"{path}#{sheet}" if sheet and path.suffix == ".xlsx" else path, _ROWS)
    problems = [_named(problem, path, file.name) for problem in seen.problems[:_PROBLEMS]]
    if len(seen.problems) > _PROBLEMS:  # those of a file are often alike
        problems.append("There are more problems of this file.")
    return replace(
        seen,
        rows=tuple(tuple(cell[:_CELL] for cell in row) for row in seen.rows),
        notes=tuple(_named(note, path, file.name) for note in seen.notes),
        problems=tuple(problems),
    )


def _doubts(file: StoredFile, seen: Preview) -> Iterator[str]:
    """Yield what speaks against the way that a file is read, and what to do."""
    if is_table(file.stored):
        if any(len(column.name.split()) > 3 and column.name.rstrip()[-1] in ".!?。！？" for column in seen.columns):
            yield (
                f"The first row of {file.name} seems to hold texts, and it is read as the names of the columns: if the "
                "names are missing, put a row with names above."
            )
    elif len(seen.rows) > 1 and len({row[0].count("\t") for row in seen.rows} - {0}) == 1 and "\t" in seen.rows[0][0]:
        yield f"{file.name} looks like a table with tabs: save it as .xlsx, or let its name end in .tsv."


def settle(run: Run, given: Mapping[str, Sequence[str]]) -> Choices:
    """Store which column, or which file, is what; texts of a line a segment are put together in one table.

    Args:
        run: whose files they are.
        given: what the form says: candidate, reference, source, document, lang, source_lang; of texts ``role-FILE``.

    Raises:
        InputError: for columns that are not there or are taken twice, no candidates, or texts of different lengths.
    """
    record = run.record
    chosen = _from_form(given)
    files = [file for file in record.files if file.stored != TEXTS]
    tables = [file for file in files if is_table(file.stored)]
    if tables:
        if len(tables) > 1:
            _joined(run, tables, {file.stored: look(run, file) for file in tables})
            tables = [StoredFile(name=TEXTS, stored=TEXTS, size=run.file(TEXTS).stat().st_size)]
        seen = look(run, tables[0], chosen.sheet)
        if seen.problems:
            raise InputError(seen.problems[0])
        single = (chosen.source, chosen.document, chosen.system, chosen.segment)
        _check([*chosen.candidate, *chosen.reference, *filter(None, single)], [column.name for column in seen.columns])
        if [chosen.sheet] == [*seen.sheets]:
            chosen = chosen.model_copy(update={"sheet": None})
        table = tables[0].model_copy(update={"role": "table"})
        others = [file for file in files if file.stored != table.stored]  # one of them may have been the table before
        files = [*(file.model_copy(update={"role": None}) for file in others), table]
    else:
        roles = {file.stored: (given.get(f"role-{file.stored}") or [file.role or ""])[0] for file in files}
        if unknown := {*roles.values()} - {"", "candidates", "references", "source"}:  # a record with it is unreadable
            raise InputError(f"There is no role {min(unknown)!r}: choose one of those offered.")
        files = [file.model_copy(update={"role": roles[file.stored] or None}) for file in files]
        run.update(files=(*files, *(file for file in record.files if file.stored == TEXTS)))
        columns = _together(run, files)
        of = {role: tuple(name for name in columns if columns[name] == many) for role, many in _ROLES.items()}
        rest = {"source": next(iter(of["source"]), None), "segment": "id"}
        chosen = Choices.model_validate({**of, **rest, "lang": chosen.lang, "source_lang": chosen.source_lang})
        table = StoredFile(name=TEXTS, stored=TEXTS, size=run.file(TEXTS).stat().st_size, role="table")
        files.append(table)
    if not chosen.candidate:
        raise InputError("Choose what is evaluated: a column or a file of candidates.")
    if not (chosen.reference or chosen.source):
        raise InputError("Choose references, a source, or both: candidates are compared with them.")
    size = _measured(run, table, chosen)
    chosen = chosen.model_copy(update={"metrics": record.choices.metrics, "download": record.choices.download})
    run.update(files=tuple(files), choices=chosen, size=size)
    return chosen


def _from_form(given: Mapping[str, Sequence[str]]) -> Choices:
    """Return what a form says of columns and languages; see `settle`."""
    single = {name: (given.get(name) or [""])[0] or None for name in _SINGLE}
    several = {name: tuple(dict.fromkeys(given.get(name, ()))) for name in ("candidate", "reference")}
    return Choices.model_validate({**single, **several})


def accept(run: Run) -> None:
    """Store what the files of a run seem to hold, as if their owner had agreed to all of it.

    Raises:
        InputError: if that takes an answer first.
    """
    understood = understand(run)
    if understood.problems or understood.encodings or not run.record.files:
        raise InputError("Hand in files, and answer what is asked here: then choose metrics.")
    given = {name: value if isinstance(value, tuple) else (value,) for name, value in understood.choices if value}
    settle(run, given)


def _measured(run: Run, file: StoredFile, choices: Choices) -> Size:
    """Read a table once, and return how much there is to score; a row that cannot be read is told where it is."""
    rows, letters, systems = 0, 0, set()
    path, columns = run.file(file.stored), len(choices.candidate)
    try:
        for row in Table(f"{path}{_sheet(choices)}", first_line=True).rows():
            rows += 1
            letters += sum(len(row.text(column)) for column in choices.candidate)
            names = [row.name(name) for name in (choices.system, choices.segment, choices.document) if name is not None]
            systems.update(names[:1] if choices.system is not None else [])
    except BsxError as error:
        raise InputError(_named(str(error), path, file.name)) from error
    below = max(1, len(systems)) if columns == 1 else 1  # systems whose rows stand one below the other
    return Size(segments=rows // below, systems=below * columns, letters=letters / max(1, rows * columns))


def table_of(run: Run) -> str:
    """Return the table that the commands of a run read, as they name it in its folder.

    Raises:
        InputError: if no file of it was said to be one.
    """
    record = run.record
    table = next((file for file in record.files if file.role == "table"), None)
    if table is None:
        raise InputError("Say first what the files hold.")
    return f"{run.file(table.stored).name}{_sheet(record.choices)}"


def _sheet(choices: Choices) -> str:
    return f"#{choices.sheet}" if choices.sheet else ""


def _check(named: Sequence[str], columns: Sequence[str]) -> None:
    for name in named:
        if name not in columns:
            raise InputError(f"There is no column {name!r}.")
        if named.count(name) > 1:
            raise InputError(f"The column {name!r} can be one thing only: it is chosen twice.")
        if "," in name or name != name.strip():
            raise InputError(f"The name of the column {name!r} holds a comma or an outer blank: rename it.")


def _together(run: Run, files: Sequence[StoredFile]) -> dict[str, str]:
    """Write texts of a line a segment side by side, and return column -> role."""
    used = [file for file in files if file.role in ("candidates", "references", "source")]
    if sum(file.role == "source" for file in used) > 1:
        raise InputError("Two files are sources: there is one source.")
    columns: dict[str, str] = {}
    for file in used:
        base = {"references": "reference", "source": "source"}.get(str(file.role)) or _system(file.name)
        numbered = itertools.chain([base], (f"{base}{number}" for number in itertools.count(2)))
        columns[next(name for name in numbered if name not in columns)] = str(file.role)
    counts = {file.name: 0 for file in used}
    try:
        with atomic_text(run.file(TEXTS), internal=True) as stream:
            readers = [NamedFile(run.file(file.stored)).lines() for file in used]
            for number, row in enumerate(itertools.zip_longest(*readers), start=1):
                for file, text in zip(used, row, strict=True):
                    counts[file.name] += text is not None
                cells = {name: text or "" for name, text in zip(columns, row, strict=True)}
                stream.write(json.dumps({"id": str(number), **cells}, ensure_ascii=False) + "\n")
            check_line_counts(counts)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(as_called(run, str(error))) from error
    return columns


def _system(name: str) -> str:
    """Return what the system is called whose candidates a file holds."""
    stem = re.sub(r"[,\s]+", " ", PurePosixPath(name).stem).strip() or "system"
    return f"{stem} (system)" if stem in ("id", "reference", "source") else stem


def _chosen_columns(choices: Choices, seen: Preview) -> Choices:
    """Return which column is what: what was chosen, or else what the columns seem to be."""
    if choices.candidate:
        return choices
    candidate, reference = (
        tuple(column.name for column in seen.columns if column.role == role) for role in ("candidate", "reference")
    )
    if not candidate:  # whatever texts there are
        candidate = tuple(column.name for column in seen.columns if column.role is None and column.kind == "text")
    single = {name: seen.first(name) for name in ("source", "document", "segment")}
    system = seen.first("system") if len(candidate) == 1 else None
    return choices.model_copy(update={**single, "system": system, "candidate": candidate, "reference": reference})


def _new_name(run: Run, name: str) -> str:
    """Return what an upload is called: a number, and its ending if that is a plain one."""
    arriving = {path.name for path in _ARRIVING if path.parent == run.folder}
    taken = {file.stored for file in run.record.files} | arriving
    if len(taken) >= _MOST:
        raise InputError(f"A run takes {_MOST} files at most.")
    end = re.findall(r"(?:\.[a-z0-9_-]{1,10})?(?:\.gz)?$", name.lower())[0] or ".txt"
    return next(made for number in itertools.count(1) if (made := f"input-{number}{end}") not in taken)


def _shown(name: str) -> str:
    """Return a name as it is shown: its last part, without what would turn or hide text."""
    last = re.split(r"[/\\]", name)[-1]
    return "".join(c for c in last if c.isprintable())[:200] or "file"


def _added(run: Run, file: StoredFile) -> StoredFile:
    run.update(files=(*run.record.files, file), choices=Choices(), joined=None)
    return file


def as_called(run: Run, message: str) -> str:
    """Return a message with the names that the user knows in place of those that files have in the folder."""
    for file in run.record.files:
        message = _named(message, run.folder / file.stored, file.name)
    return message


def _named(message: str, path: Path, name: str) -> str:
    """Return a message with the name that the user knows in place of the path."""
    return message.replace(str(path), name).replace(path.name, name)
