"""Starting the server of the page, and ending it; nothing here needs the packages of the extra until it starts."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bsx.errors import InputError
from bsx.support.optional import need
from bsx.support.progress import nothing
from bsx.support.settings import BaseSettings, Option
from bsx.ui.workspace import Workspace

_PURPOSE = "the page in the browser"


class UiSettings(BaseSettings):
    """What the page shows and where it answers."""

    files: Annotated[
        Sequence[Path | str],
        Field(description="Files to begin with: tables, texts, XLSX, XLIFF, TMX."),
        Option(argument=True, whole=True),
    ] = ()
    folder: Annotated[
        Path | str,
        Field(description="Folder that keeps runs and their results."),
        Option(folder=True),
    ] = Path("bsx-results")
    read_only: Annotated[
        Path | str | None,
        Field(description="Show the results in this folder, and run nothing."),
        Option(folder=True, metavar="FOLDER"),
    ] = None
    port: Annotated[int, Field(description="Port to answer at; a free one unless given.", ge=0, le=65535)] = 0
    browser: Annotated[bool, Field(description="Open the page in the browser.")] = True


def serve(settings: UiSettings, say: Callable[[str], None] = nothing) -> None:
    """Serve the page on this machine alone, until it is interrupted.

    Args:
        settings: see `UiSettings`.
        say: called with the address, once the server answers there.

    Raises:
        MissingExtraError: if the packages of the extra ``ui`` are missing.
        InputError: if the folder or the port cannot be used.
    """
    for module in ("starlette", "uvicorn", "jinja2", "python_multipart"):
        need(module, _PURPOSE)
    from bsx.ui.app import make_app
    from bsx.ui.inputs import copy_in
    from bsx.ui.jobs import Jobs

    workspace = _workspace(settings)
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(_listen(settings.port))
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(32)
        jobs = None if workspace.read_only else Jobs(workspace)
        if jobs is not None:
            stack.callback(jobs.close)
        page = "/"
        if settings.files:
            run = workspace.new(Path(settings.files[0]).stem)
            try:
                for file in settings.files:
                    copy_in(run, Path(file))
            except BaseException:
                workspace.remove(run)
                raise
            page = f"/runs/{run.name}/files"
        address = f"http://127.0.0.1:{port}{page}?token="
        app = make_app(workspace, token, port, jobs)

        def begun() -> None:
            say(f"{address}{token}")
            say(f"bsx: {'results' if workspace.read_only else 'runs'} in {workspace.folder}; Ctrl-C ends the page")
            if settings.browser:
                once = secrets.token_urlsafe(32)
                app.once.add(once)
                # A thread, because some browsers are waited for, and they wait for us.
                threading.Thread(target=_open, args=(address + once,), name="bsx-browser", daemon=True).start()

        _answer(app, listening, begun)


def _open(address: str) -> None:
    """Open an address in a browser with windows; one in the terminal cannot show the page."""
    with contextlib.suppress(webbrowser.Error, OSError):
        browser = webbrowser.get()
        if "BROWSER" in os.environ or type(browser) is not webbrowser.GenericBrowser:
            browser.open(address)


def _answer(app: object, listening: socket.socket, begun: Callable[[], None]) -> None:
    """Answer requests until Ctrl-C."""
    uvicorn = need("uvicorn", _PURPOSE)
    config = uvicorn.Config(
        app, lifespan="off", access_log=False, log_level="error", server_header=False, timeout_graceful_shutdown=2
    )
    begun()
    uvicorn.Server(config).run(sockets=[listening])


def _workspace(settings: UiSettings) -> Workspace:
    read_only = settings.read_only is not None
    folder = Path(settings.folder if settings.read_only is None else settings.read_only)
    if read_only and settings.files:
        raise InputError("files have no effect with read_only, which runs nothing: leave them out", setting="files")
    if read_only and Path(settings.folder) != UiSettings.model_fields["folder"].default:
        raise InputError("folder has no effect with read_only, which names one: leave it out", setting="folder")
    if folder.exists() and not folder.is_dir():
        raise InputError("is no folder", file=folder)
    if read_only and not folder.is_dir():
        raise InputError("is not there", file=folder)
    return Workspace(folder.resolve(), read_only=read_only)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise InputError(f"port {port} cannot be used ({error.strerror}): name another", setting="port") from error
    listening.listen(128)
    return listening
