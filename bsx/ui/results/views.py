"""What the server answers about results: pages, columns of numbers and texts, notes, files to take away."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bsx.analysis.compare.result import CompareResult
from bsx.analysis.report.result import chart_library, kept_library
from bsx.errors import BsxError, InputError, UnknownNameError
from bsx.support.children import run_code
from bsx.ui.guard import read_texts
from bsx.ui.inputs import as_called
from bsx.ui.pages import render
from bsx.ui.results.aligning import Aligners
from bsx.ui.results.exports import Export, exports, make
from bsx.ui.results.selection import SELECTION, Conflict, Kept, change, read_selection
from bsx.ui.results.shown import RunFindings, RunNeighbours, read_beside, shown
from bsx.ui.results.store import ScoredTable, TextColumn, TextNames, read_table
from bsx.ui.workspace import COMMANDS, TABLES, Run, Workspace

_MOST_OPEN = 3
"""Runs whose numbers are kept in memory; others are read again when somebody looks at them."""
_LONG = 8 << 20  # bytes of a table that takes seconds to read: a page says how far it is
_SOON = 2.0  # seconds of reading before a page says how far it is
_SMALL = 1 << 14  # bytes that are not worth compressing
_LONGEST_COMMANDS = 1 << 16


@dataclass(frozen=True)
class _Opened:
    table: ScoredTable
    beside: RunNeighbours
    shown: RunFindings
    state: tuple[object, ...]


class ResultViews:
    """The answers to requests under ``/results/``.

    Args:
        workspace: whose runs are shown.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._reading = threading.Lock()
        self._aligners = Aligners()
        starting = ThreadPoolExecutor(1, "bsx-charts")
        self._charts = starting.submit(_charts)  # while the first run is read
        starting.shutdown(wait=False)
        self._rows: dict[str, int] = {}  # of runs that are being read: rows so far

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/library/charts.js", self._library),
            Route("/results/{run}", self._page),
            Route("/results/{run}/columns", _answered(self._columns)),
            Route("/results/{run}/scores", _answered(self._scores)),
            Route("/results/{run}/texts/{column}", _answered(self._texts)),
            Route("/results/{run}/align/{system}/{place}", _answered(self._align)),
            Route("/results/{run}/selection", _answered(self._selection)),
            Route("/results/{run}/selection", self._change, methods=["POST"]),
            Route("/results/{run}/exports", _answered(self._exports)),
            Route("/results/{run}/export/{name}", _answered(self._export)),
        ]

    def _library(self, request: Request) -> Response:
        headers = {"cache-control": "private, max-age=3600"}
        return Response(self._charts.result(), media_type="text/javascript; charset=utf-8", headers=headers)

    def _open(self, run: Run) -> _Opened:
        """Return what is known of a run, read again if its files have changed."""
        with self._reading:
            state = _state(run)
            opened = self._opened.pop(run.name, None)
            if opened is None or opened.state != state:
                if not run.scores.is_file():
                    raise UnknownNameError(f"the run {run.name!r} has no scores yet")
                choices = run.record.choices
                named = TextNames(choices.source, choices.reference, choices.document)
                table = read_table(run.scores, named, lambda rows: self._rows.__setitem__(run.name, rows))
                beside = read_beside(run, has_folder=self._has_folder(run))
                opened = _Opened(table, beside, shown(run, table, beside), state)
            self._opened[run.name] = opened
            while len(self._opened) > _MOST_OPEN:  # its file of texts closes when nobody reads it any more
                self._opened.popitem(last=False)
            return opened

    def _has_folder(self, run: Run) -> bool:
        return run.folder != self._workspace.folder

    def _run(self, request: Request) -> Run:
        return self._workspace.run(request.path_params["run"])

    def _selected(self, run: Run) -> Path:
        return run.file(SELECTION if self._has_folder(run) else f"{run.name}.{SELECTION}")

    def _wait(self, request: Request, run: Run) -> Response | None:
        """Return a page that says how far a large table is read; None if it has been read, or is soon."""
        scores = run.scores
        if not scores.is_file() or scores.stat().st_size < _LONG:
            return None
        if run.name not in self._rows:
            opened = self._opened.get(run.name)
            if opened is not None and opened.state == _state(run):
                return None
            self._rows[run.name] = 0
            reading = threading.Thread(target=self._read, args=(run,), name="bsx-read", daemon=True)
            reading.start()
            reading.join(_SOON)
        if self._rows[run.name] < 0:  # it has ended, well or not: who opens it now learns of it
            del self._rows[run.name]
            return None
        size = run.record.size
        values = {"here": "runs", "run": run, "rows": self._rows[run.name], "total": size.segments * size.systems}
        return render(request, "reading.html.jinja", {**values, "title": run.record.title or run.name})

    def _read(self, run: Run) -> None:
        with contextlib.suppress(BsxError):  # which the page says when it opens the run
            self._open(run)
        self._rows[run.name] = -1

    def _page(self, request: Request) -> Response:
        run = self._run(request)
        if (waiting := self._wait(request, run)) is not None:
            return waiting
        opened = self._open(run)
        record = run.record
        notes = [*opened.table.notes, *opened.beside.notes, *(record.joined.notes if record.joined else ())]
        notes += [f"The comparison failed: {as_called(run, record.error)}"] if record.error else []
        made = (run.read(COMMANDS, _LONGEST_COMMANDS) if self._has_folder(run) else None) or b""
        return render(
            request,
            "results.html.jinja",
            {
                "here": "runs",
                "run": run,
                "title": record.title or run.name,
                "shown": opened.shown,
                "notes": notes,
                "made": made.decode("utf-8", "replace").strip(),
            },
        )

    def _columns(self, request: Request) -> Response:
        run = self._run(request)
        opened = self._open(run)
        table, choices = opened.table, run.record.choices
        languages = (choices.source_lang or table.languages[0], choices.lang or table.languages[1])
        return _json(
            request,
            {
                "rows": table.rows,
                "systems": table.systems,
                "metrics": [
                    {
                        "name": metric.name,
                        "title": opened.shown.titles.get(metric.name, metric.name),
                        "human": metric.human,
                    }
                    | {"higher": metric.higher, "signature": metric.signature}
                    for metric in table.metrics
                ],
                "segments": table.segments,
                "documents": table.documents.tolist(),
                "documentNames": table.document_names,
                "lengths": table.lengths.tolist(),
                "texts": [{"role": text.role, "name": text.name} for text in table.texts],
                "languages": {"source": languages[0], "target": languages[1]},
                "readOnly": self._workspace.read_only,
            },
        )

    def _scores(self, request: Request) -> Response:
        values = self._open(self._run(request)).table.values
        return _sent(request, np.ascontiguousarray(values, dtype="<f8").tobytes(), "application/octet-stream")

    def _texts(self, request: Request) -> Response:
        table = self._open(self._run(request)).table
        number = _number(request, "column")
        if number >= len(table.texts):
            raise UnknownNameError(f"there is no column {number} of texts")
        return _json(request, table.column(table.texts[number]))

    def _align(self, request: Request) -> Response:
        if self._workspace.read_only:
            raise InputError("results are only shown here (read_only), and an alignment takes an encoder to run")
        run = self._run(request)
        table = self._open(run).table
        system, place = _number(request, "system"), _number(request, "place")
        if system >= len(table.systems) or place >= len(table.segments):
            raise UnknownNameError("there is no such segment")
        references = next((text for text in table.texts if text.role == "reference"), None)
        candidate = _text(table, table.candidate(system), place, "candidate")
        reference = _text(table, references, place, "reference")
        signature = next((metric.signature for metric in table.metrics if "metric:bertscore" in metric.signature), "")
        lang = run.record.choices.lang or table.languages[1] or None
        return _json(request, self._aligners.align(candidate, reference, signature, lang))

    def _selection(self, request: Request) -> Response:
        return _kept(read_selection(self._selected(self._run(request))))

    async def _change(self, request: Request) -> Response:
        body = await request.body()

        def changed() -> Response:
            segment, was, note = read_texts(body, "segment", "was", "note")
            run = self._run(request)
            if self._workspace.read_only:
                raise InputError("results are only shown here (read_only): nothing is kept")
            try:
                return _kept(change(self._selected(run), segment or "", was, note, self._open(run).table.segments))
            except Conflict as conflict:
                return _kept(conflict.kept, 409)

        return await run_in_threadpool(_guarded, changed)

    def _all_exports(self, run: Run) -> list[Export]:
        documents, selected = self._open(run).beside.documents, self._selected(run)
        compared = next((name for name, document in documents.items() if isinstance(document, CompareResult)), None)
        return exports(run, list(documents), selected, read_selection(selected), comparison=compared)

    def _exports(self, request: Request) -> Response:
        offered = self._all_exports(self._run(request))
        return _json(
            request,
            [
                {
                    "name": export.name,
                    "title": export.title,
                    "about": export.about,
                    "command": export.line,
                    "selection": export.of_selection,
                }
                for export in offered
            ],
        )

    def _export(self, request: Request) -> Response:
        run = self._run(request)
        name = request.path_params["name"]
        export = next((candidate for candidate in self._all_exports(run) if candidate.name == name), None)
        if export is None:
            raise UnknownNameError(f"there is no {name[:80]!r} to take away; keep some segments first for a selection")
        folder = Path(tempfile.mkdtemp(prefix="bsx-ui-"))
        try:
            file = make(export, run, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        away = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(file, filename=name, media_type="application/octet-stream", background=away)


def _state(run: Run) -> tuple[object, ...]:
    """Return what changes when a file of the run does, other than its selection."""
    states = []
    for path in sorted(run.folder.iterdir()):
        if path.suffix in (".json", ".xlsx", *TABLES) and not path.name.endswith(SELECTION):
            with contextlib.suppress(OSError):
                stat = path.stat()
                states.append((path.name, stat.st_mtime_ns, stat.st_size))
    return tuple(states)


def _number(request: Request, name: str) -> int:
    """Return a number of an address; Starlette's own are of any length, and Python reads none of 5,000 digits."""
    given = str(request.path_params[name])
    if not given.isdecimal() or len(given) > 9:
        raise UnknownNameError(f"there is no {name} {given[:80]!r}")
    return int(given)


def _text(table: ScoredTable, column: TextColumn | None, place: int, role: str) -> str:
    text = None if column is None else table.text(column, place)
    if not text:
        raise InputError(f"this segment has no {role} to align")
    return text


def _kept(kept: Kept, status: int = 200) -> Response:
    return JSONResponse(kept.to_dict(), status, headers={"etag": f'"{kept.version}"'})


def _guarded(call: Callable[[], Response]) -> Response:
    """Return an answer, or what stands in its way as JSON."""
    try:
        return call()
    except BsxError as error:
        return JSONResponse({"error": str(error)}, 404 if isinstance(error, UnknownNameError) else 400)


def _answered(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    return lambda request: _guarded(lambda: answer(request))


def _json(request: Request, content: object) -> Response:
    spelled = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _sent(request, spelled.encode("utf-8", "replace"), "application/json")


def _sent(request: Request, body: bytes, kind: str) -> Response:
    headers = {"vary": "accept-encoding"}
    if len(body) > _SMALL and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(body, media_type=kind, headers=headers)


def _charts() -> str:
    """Return the library of charts, put together in another process: in this one, no request would be answered."""
    if not kept_library().is_file():
        run_code("from bsx.analysis.report.result import chart_library; chart_library()")
    return chart_library()


def routes(workspace: Workspace) -> list[BaseRoute]:
    """Return the routes under ``/results/``."""
    return ResultViews(workspace).routes()
