"""Templates and files of the page: whole answers in HTML, and what they load from this server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bsx.analysis.report.result import in_script, prepared
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import titles
from bsx.support.provenance import VERSION

_PLACES = ("bsx.ui", "bsx.ui.results", "bsx.analysis.report")
"""Packages whose folder ``page`` holds templates, styles and scripts; a name is looked for in this order."""
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def part(name: str) -> str | None:
    """Return a file of the page by its plain name, or None."""
    for package in _PLACES:
        file = resources.files(package).joinpath("page", name)
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None


@cache
def _environment() -> Environment:
    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(part)
    )
    made.filters["data"] = lambda value: Markup(in_script(value))  # noqa: S704 - no character is left that HTML knows
    made.filters["explained"] = explained
    made.filters["titles"] = lambda specs: titles(specs, load_registry())
    prepared(made)
    return made


_WORDS = {
    "tau": "Kendall's tau: how often a metric and humans agree on which of two texts is better; 1 is always, 0 chance",
    "r": "Pearson's r: how well scores agree with human judgments; 1 is full agreement, 0 none",
    "n": "how many texts were judged",
    "p": "how often chance alone would give a difference as large",
    "chrF": "a metric that counts shared sequences of letters",
}


def explained(text: str) -> Markup:
    """Return a sentence whose technical words say on hovering what they mean."""
    pieces = re.split(rf"\b({'|'.join(_WORDS)})\b", text)
    return Markup("").join(
        Markup('<abbr title="{}">{}</abbr>').format(_WORDS[piece], piece) if at % 2 else escape(piece)
        for at, piece in enumerate(pieces)
    )


def render(request: Request, template: str, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
    """Return a page.

    Args:
        request: what it answers.
        template: the file's name; see ``layout.html.jinja`` for its blocks.
        values: what the template reads; the workspace, the version and the place in the navigation are added.
        status: of the answer.
    """
    given = {"here": "", "run": None, "version": VERSION, "workspace": request.app.state.workspace, **values}
    text = _environment().get_template(template).render(given)
    return HTMLResponse(text.encode("utf-8", "replace"), status)  # documents may hold half a surrogate pair


@cache
def _static(name: str) -> tuple[str, str] | None:
    kind = _KINDS.get(PurePosixPath(name).suffix)
    content = part(name) if kind is not None else None
    return None if content is None or kind is None else (content, kind)


def _serve(request: Request) -> Response:
    name = request.path_params["name"]
    static = _static(name) if re.fullmatch(r"[a-z0-9.-]{1,60}", name) else None
    if static is None:
        return Response("There is no such file.\n", 404, media_type="text/plain")
    return Response(static[0], headers={"content-type": static[1], "cache-control": "no-cache"})


def routes() -> list[Route]:
    """Return the routes of scripts and styles: known files by plain names, no folder, no listing."""
    return [Route("/static/{name:str}", _serve)]
