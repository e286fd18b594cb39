"""The server's parts, put together behind its guard."""

from __future__ import annotations

import threading

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send

from bsx.errors import BsxError, UnknownNameError
from bsx.ui import pages
from bsx.ui.guard import Guard, TooLargeError
from bsx.ui.jobs import Jobs
from bsx.ui.views import UPLOAD, Views, most_upload
from bsx.ui.workspace import Workspace


def make_app(workspace: Workspace, token: str, port: int, jobs: Jobs | None = None) -> Guard:
    """Return the whole server as an ASGI application.

    Args:
        workspace: the folder that it shows, and unless that is read-only, works in.
        token: what lets a browser in.
        port: the port that it will listen at, which requests must name.
        jobs: the queue of the workspace; None for one that is read only.
    """
    views = Views(workspace, jobs)
    routes: list[BaseRoute] = [*views.routes(), *pages.routes(), _Results(workspace)]
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: _no_page, BsxError: _wrong, Exception: _broken},
    )
    app.state.workspace = workspace
    return Guard(app, token, port, uploads=(UPLOAD,), most=lambda: most_upload(workspace))


class _Results(BaseRoute):
    """The pages of results, whose code is loaded when the first of them is asked for: the first page needs none."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._router: Router | None = None
        self._loading = threading.Lock()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell whether a request is for results."""
        ours = scope["type"] == "http" and scope["path"].startswith(("/results/", "/library/"))
        return (Match.FULL if ours else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for results."""
        router = self._router if self._router is not None else await run_in_threadpool(self._load)
        await router(scope, receive, send)

    def _load(self) -> Router:
        from bsx.ui.results.views import routes

        with self._loading:
            if self._router is None:
                self._router = Router(routes(self._workspace))
            return self._router


def _no_page(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    message = {404: "There is no such page.", 405: "This page cannot be asked for that."}.get(status, "")
    return pages.render(request, "problem.html.jinja", {"problem": message or str(error)}, status)


def _wrong(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, UnknownNameError) else 413 if isinstance(error, TooLargeError) else 400
    if request.headers.get("accept") == "application/json":
        return JSONResponse({"problem": str(error)}, status)
    return pages.render(request, "problem.html.jinja", {"problem": str(error)}, status)


def _broken(request: Request, error: Exception) -> Response:
    message = f"The page ended with an error that nobody foresaw ({type(error).__name__}): please report it."
    return pages.render(request, "problem.html.jinja", {"problem": message}, 500)
