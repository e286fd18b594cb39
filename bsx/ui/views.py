"""What the server answers: files in, metrics chosen, runs watched. Each changes only the folder of a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import PurePosixPath

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import Asked
from bsx.errors import BsxError, InputError
from bsx.support.environment import forbidden
from bsx.ui import choosing, inputs
from bsx.ui.encodings import KNOWN
from bsx.ui.guard import TooLargeError, check_text
from bsx.ui.jobs import Jobs, commands
from bsx.ui.pages import render
from bsx.ui.workspace import COMMANDS, LOG, UNFINISHED, Record, Run, Workspace

UPLOAD = "/upload/"
"""How the paths begin that take a file."""
_TAIL = 1 << 16  # bytes of a log, or of commands, that are shown


def most_upload(workspace: Workspace) -> int:
    """Return how many bytes an upload may have: a quarter of what is free on the disk, 4 GiB at most."""
    folder = next(above for above in (workspace.folder, *workspace.folder.parents) if above.exists())
    return min(4 << 30, max(1 << 20, shutil.disk_usage(folder).free // 4))


class Views:
    """Pages and what they ask for.

    Args:
        workspace: the folder of runs.
        jobs: their queue; None if nothing may be run.
    """

    def __init__(self, workspace: Workspace, jobs: Jobs | None) -> None:
        self._workspace = workspace
        self._jobs = jobs
        self._survey = choosing.Survey()

    def routes(self) -> list[Route]:
        """Return the routes; of a workspace that is only read, none that changes anything."""
        shown = [
            Route("/runs", self.runs),
            Route("/runs/{name}", self.run),
            Route("/runs/{name}/status", self.status),
        ]
        if self._jobs is None:
            return [Route("/", self.runs), *shown]
        return [
            Route("/", self.home),
            Route("/metrics", self.all_metrics),
            *shown,
            Route("/new", self.new, methods=["POST"]),
            Route(UPLOAD + "{name}", self.upload, methods=["PUT"]),
            Route("/runs/{name}/files", self.files),
            Route("/runs/{name}/files", _form(self.settle), methods=["POST"]),
            Route("/runs/{name}/remove-file", _form(self.remove_file), methods=["POST"]),
            Route("/runs/{name}/encoding", _form(self.read_as), methods=["POST"]),
            Route("/runs/{name}/metrics", self.metrics),
            Route("/runs/{name}/metrics", _form(self.start), methods=["POST"]),
            Route("/runs/{name}/cancel", _form(self.cancel), methods=["POST"]),
            Route("/runs/{name}/resume", _form(self.resume), methods=["POST"]),
            Route("/runs/{name}/again", _form(self.again), methods=["POST"]),
            Route("/runs/{name}/remove", _form(self.remove), methods=["POST"]),
        ]

    def _run(self, request: Request) -> Run:
        return self._workspace.run(request.path_params["name"])

    def _changing(self, request: Request) -> Run:
        """Return the run that a request is to change, if that may be changed."""
        run = self._run(request)
        _check_editable(run)
        return run

    @property
    def _queue(self) -> Jobs:
        assert self._jobs is not None  # noqa: S101 - routes that need it exist only then
        return self._jobs

    def home(self, request: Request) -> Response:
        """Show where files go, and the latest runs."""
        runs = self._workspace.runs()
        latest = [self._line(run) for run in runs if not run.is_draft][:5]
        drafts = [self._line(run) for run in runs if run.is_draft]
        answer = render(request, "home.html.jinja", {"here": "files", "runs": latest, "drafts": drafts})
        answer.background = BackgroundTask(self._get_ready)
        return answer

    def _get_ready(self) -> None:
        """Do what the next pages need, while somebody looks at the first one."""
        self._survey.begin()
        inputs.warm_up()

    async def new(self, request: Request) -> Response:
        """Make a run and say its name."""
        title = PurePosixPath(request.query_params.get("title", "").replace("\\", "/")).stem[:120]
        run = await run_in_threadpool(self._workspace.new, title or "Untitled")
        return JSONResponse({"name": run.name}, 201)

    async def upload(self, request: Request) -> Response:
        """Store a file in a run."""
        run = self._changing(request)
        try:
            file = await inputs.store(run, request.query_params.get("name", "file"), request.stream())
        except BsxError as error:
            return JSONResponse({"problem": str(error)}, 413 if isinstance(error, TooLargeError) else 400)
        return JSONResponse({"stored": file.stored}, 201)

    def files(self, request: Request) -> Response:
        """Show the files of a run: their first rows, and which column is what."""
        return self._files(request, self._run(request))

    def _files(
        self,
        request: Request,
        run: Run,
        problem: str | None = None,
        given: Mapping[str, Sequence[str]] | None = None,
    ) -> Response:
        asked = request.query_params
        understood = inputs.understand(run, asked.get("sheet"), given, asked.get("key"), asked.get("encoding"))
        record = run.record
        values = {
            "here": "files",
            "run": run,
            "record": record,
            "files": [file for file in record.files if file.stored != inputs.TEXTS],
            "called": KNOWN,
            "asked_for_row": "sheet" in asked,
            "names": {file.stored: file.name for file in record.files} | {inputs.TEXTS: inputs.JOINED},
            "ways": () if understood.main != inputs.TEXTS or run.record.joined is None else run.record.joined.ways,
            "inputs": understood,
            "languages": sorted((language.name, code) for code, language in load_registry().languages.items()),
            "problem": problem,
            "editable": record.is_editable,
        }
        return render(request, "files.html.jinja", values, 400 if problem else 200)

    def settle(self, request: Request, form: FormData) -> Response:
        """Store which column is what, and go on to the metrics."""
        run = self._changing(request)
        given = {name: [str(value) for value in form.getlist(name)] for name in form}
        try:
            inputs.settle(run, given)
        except BsxError as error:
            return self._files(request, run, str(error), given)
        return _to(f"/runs/{run.name}/metrics")

    def remove_file(self, request: Request, form: FormData) -> Response:
        """Remove a file of a run."""
        run = self._changing(request)
        inputs.remove(run, str(form.get("stored", "")))
        return _to(f"/runs/{run.name}/files")

    def read_as(self, request: Request, form: FormData) -> Response:
        """Take files in the encodings that somebody has looked at."""
        run = self._changing(request)
        try:
            for stored, encoding in form.items():
                inputs.read_as(run, stored, str(encoding))
        except BsxError as error:
            return self._files(request, run, str(error))
        return _to(f"/runs/{run.name}/files")

    def all_metrics(self, request: Request) -> Response:
        """Show the metrics for a language, without a run."""
        return self._metrics(request, None, request.query_params.get("lang") or "en")

    def metrics(self, request: Request) -> Response:
        """Show the metrics for a run's language."""
        run = self._run(request)
        if not run.record.choices.candidate:
            try:
                _check_editable(run)
                inputs.accept(run)
            except BsxError as error:
                return self._files(request, run, str(error))
        return self._metrics(request, run, None)

    def _metrics(
        self,
        request: Request,
        run: Run | None,
        lang: str | None,
        problem: str | None = None,
        chosen: Sequence[str] = (),
    ) -> Response:
        if not self._survey.ready:
            return render(request, "wait.html.jinja", {"here": "metrics", "run": run})
        record = run.record if run is not None else Record()
        languages = sorted((language.name, code) for code, language in load_registry().languages.items())
        values: dict[str, object] = {
            "here": "metrics",
            "can": run is not None and record.is_editable,
            "run": run,
            "record": record,
            "problem": problem,
            "languages": languages,
            "chosen": chosen or record.choices.metrics,
        }
        offers: list[choosing.Offer] = []
        try:
            asked, offers = self._offers(record, lang)
            lang, values["language"] = asked.target.code, asked.target.name
        except BsxError as error:
            values["problem"] = problem or str(error)
        installable = (
            offer for offer in offers if offer.spec.startswith("bertscore") and "pip install" in (offer.lacks or "")
        )
        neural = any(offer.recommended and offer.spec != "chrf" for offer in offers)
        missing = None if neural else next(installable, None)
        values |= {"offers": offers, "lang": lang, "offline": forbidden() is not None, "missing": missing}
        return render(request, "metrics.html.jinja", values, 400 if problem else 200)

    def _offers(self, record: Record, lang: str | None) -> tuple[Asked, list[choosing.Offer]]:
        choices = record.choices
        if lang is None:
            if choices.lang is None:
                raise InputError("Choose the language of the candidates under Files: metrics are ranked for it.")
            lang = f"{choices.source_lang}-{choices.lang}" if choices.source_lang else choices.lang
        columns_of = {"reference": choices.reference, "source": choices.source}
        sides = [side for side, columns in columns_of.items() if columns or not choices.candidate]
        return choosing.offers(lang, sides, record.size, self._survey.result())

    def start(self, request: Request, form: FormData) -> Response:
        """Put a run into the queue with the metrics that were chosen."""
        run = self._changing(request)
        chosen = [str(value) for value in form.getlist("metric")]
        try:
            _, known = self._offers(run.record, None)
            specs = choosing.check_metrics(chosen, known)
            fetched = [offer for offer in known if offer.spec in specs and offer.download is not None]
            if fetched and not form.get("download"):
                raise InputError(
                    f"{fetched[0].title} needs {fetched[0].download} from the network: tick that box at the end of the "
                    "list, or take it out."
                )
        except BsxError as error:
            return self._metrics(request, run, None, str(error), chosen or ("",))  # nothing is ticked again
        choices = run.record.choices.model_copy(update={"metrics": specs, "download": bool(form.get("download"))})
        run.update(choices=choices)
        self._submit(run)
        return _to(f"/runs/{run.name}")

    def _submit(self, run: Run) -> None:
        record = run.record
        made = commands(inputs.table_of(run), record.choices, record.size.systems)
        self._queue.submit(run, made, download=record.choices.download)

    def cancel(self, request: Request, form: FormData) -> Response:
        """Ask a run to end."""
        run = self._run(request)
        self._queue.cancel(run.name)
        return _to(f"/runs/{run.name}")

    def resume(self, request: Request, form: FormData) -> Response:
        """Let a run that was stopped go on where it was."""
        run = self._changing(request)
        choices = run.record.choices
        if not choices.metrics:
            return _to(f"/runs/{run.name}/metrics")
        try:  # the folder may come from elsewhere: what it names must be what is offered here
            _, known = self._offers(run.record, None)
            choosing.check_metrics(choices.metrics, known)
        except BsxError as error:
            return self._metrics(request, run, None, str(error))
        self._submit(run)
        return _to(f"/runs/{run.name}")

    def again(self, request: Request, form: FormData) -> Response:
        """Make a new run of the files of another."""
        run = inputs.copy_of(self._workspace, self._run(request))
        if run.record.choices.download:  # what was fetched runs here now
            self._survey.again()
        return _to(f"/runs/{run.name}/{'metrics' if run.record.choices.candidate else 'files'}")

    def remove(self, request: Request, form: FormData) -> Response:
        """Remove a run and its files."""
        run = self._run(request)
        _check_ended(run)
        self._workspace.remove(run)
        return _to("/runs")

    def runs(self, request: Request) -> Response:
        """Show all runs; what was handed in and never started is none."""
        lines = [self._line(run) for run in self._workspace.runs() if not run.is_draft]
        return render(request, "runs.html.jinja", {"here": "runs", "runs": lines})

    def run(self, request: Request) -> Response:
        """Show a run: how far it is, what it does, what went wrong."""
        run = self._run(request)
        values = {"here": "runs", "log": _part(run, LOG), "script": _part(run, COMMANDS), **self._line(run)}
        values["error"] = inputs.as_called(run, run.record.error or "")
        return render(request, "run.html.jinja", values)

    def status(self, request: Request) -> Response:
        """Tell how far a run is."""
        record, place = self._now(self._run(request))
        return JSONResponse(
            {
                "state": record.state,
                "place": place,
                "progress": record.progress.model_dump(),
                "seconds": record.seconds,
                "error": record.error,
            }
        )

    def _line(self, run: Run) -> dict[str, object]:
        """Return what lists of runs show of one."""
        record, place = self._now(run)
        return {"run": run, "record": record, "place": place}

    def _now(self, run: Run) -> tuple[Record, int | None]:
        """Return what is known of a run this moment, and how many come before it in the queue."""
        if self._jobs is None:
            return run.record, None
        return self._jobs.record(run), self._jobs.place(run.name)


def _form(handle: Callable[[Request, FormData], Response]) -> Callable[[Request], object]:
    """Return an endpoint that reads a form without files, and handles it off the event loop."""

    @wraps(handle)
    async def endpoint(request: Request) -> Response:
        if "multipart/" in request.headers.get("content-type", "").lower():
            # In which every field may have an encoding of its own.
            raise InputError("The forms of this page are sent as application/x-www-form-urlencoded.")
        async with request.form(max_files=0, max_fields=4000) as form:
            for pair in form.multi_items():
                for text in map(str, pair):
                    check_text(text)
            return await run_in_threadpool(handle, request, form)

    return endpoint


def _check_ended(run: Run) -> None:
    if run.record.state in UNFINISHED:
        raise InputError("This run is queued or running: cancel it first.")


def _check_editable(run: Run) -> None:
    """Refuse to change what a run is made of while it runs, or once there are results."""
    _check_ended(run)
    if run.record.state == "done":
        raise InputError("This run has results, which stay as they are: run its files again as a new one.")


def _to(path: str) -> Response:
    return RedirectResponse(path, 303)


def _part(run: Run, name: str) -> str:
    """Return the beginning of one of a run's files, of its log the end; empty where that cannot be read."""
    try:
        return (run.read(name, _TAIL, end=name == LOG) or b"").decode("utf-8", "replace")
    except OSError:
        return ""
