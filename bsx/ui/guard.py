"""The door of the server: who may ask, from where, how much; and what every answer says of itself."""

from __future__ import annotations

import html
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bsx.errors import InputError
from bsx.support.memory import show_bytes

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types default",
    ]
)
"""Content-Security-Policy of every answer: nothing inline, nothing from elsewhere, in nobody's frame."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}

_LARGEST_FORM = 1 << 20
"""Bytes of a request that is no upload."""


_OURS = (None, "none", "same-origin")  # sites, as a browser calls them, whose requests it sends for us or its user
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class TooLargeError(InputError):
    """A request has more bytes than it may have."""


def check_text(text: str) -> str:
    """Return a text that every file takes, UTF-8, XML and spreadsheets alike.

    Raises:
        InputError: for one with half a surrogate pair, or a control character other than tab and line break.
    """
    if (unfit := _UNFIT.search(text)) is not None:
        raise InputError(f"a text holds U+{ord(unfit[0]):04X}, which no file can keep: take that character out")
    return text


def read_texts(body: bytes, *names: str) -> tuple[str | None, ...]:
    """Return texts of the JSON object that a request brings; None for null and for what is left out.

    `Guard` has bounded its bytes.

    Raises:
        InputError: if it is no such object, is nested too deep, or has a text that no file can keep.
    """
    try:
        content: object = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    given: list[object] = [content.get(name) for name in names] if isinstance(content, dict) else []
    texts = tuple(check_text(text) if isinstance(text, str) else None for text in given)
    if texts != tuple(given) or not given:
        raise InputError(f"this takes a JSON object with texts, or null, under {', '.join(names)}")
    return texts


@dataclass
class Guard:
    """Middleware that lets in only who has the token, at this address, from a page of this address.

    Attributes:
        app: what is guarded.
        token: what the first visit must bring in the address, and every later one in its cookie.
        port: the port that the server listens at.
        uploads: paths that begin so may have ``most`` bytes, all others `_LARGEST_FORM`.
        most: returns the bytes that an upload may have at this moment.
        once: tokens that are each good for one first visit: what is given to a browser as an argument can be read by
            every user of the machine.
    """

    app: ASGIApp
    token: str
    port: int
    uploads: Iterable[str] = ()
    most: Callable[[], int] = lambda: _LARGEST_FORM
    once: set[str] = field(default_factory=set)
    hosts: frozenset[str] = field(init=False)
    cookie: str = field(init=False)

    def __post_init__(self) -> None:
        port = "" if self.port == 80 else f":{self.port}"  # which browsers leave out
        self.hosts = frozenset({f"127.0.0.1{port}", f"localhost{port}"})
        self.cookie = f"bsx-{self.port}"  # cookies know no ports, and several servers may run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        sent = _with_headers(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, sent)
            return
        try:
            await self.app(scope, _bounded(receive, self._most(scope)), sent)
        except ClientDisconnect:  # the browser was closed in the middle of an upload
            return

    def _most(self, scope: Scope) -> int:
        """Return how many bytes a request may have."""
        return self.most() if scope["path"].startswith(tuple(self.uploads)) else _LARGEST_FORM

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if any(len(headers.getlist(name)) > 1 for name in ("host", "origin", "sec-fetch-site")):
            return _refused(400, "A header that says who asks was sent twice.")
        if headers.get("host") not in self.hosts:
            return _refused(421, "This server answers at its own address only.")
        asked = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        reads = scope["method"] in ("GET", "HEAD")
        if reads and "token" in asked:
            given = asked.pop("token")
            if given not in self.once and not self._is_token(given):
                return _refused(403, _CLOSED)
            self.once.discard(given)
            return self._opened(scope["path"], urlencode(asked), headers.get("sec-fetch-site"))
        if not any(map(self._is_token, _cookies(headers, self.cookie))):
            return _refused(403, _CLOSED)
        site = headers.get("sec-fetch-site")  # a page of another port has our cookie, and must not set us to work
        if not (site in _OURS if reads else self._same_origin(headers)):
            return _refused(403, "Only this server's own pages may ask for this.")
        length = headers.get("content-length")
        if length is not None and (not length.isdecimal() or int(length) > self._most(scope)):
            return _refused(413, _too_large(self._most(scope)))
        return None

    def _opened(self, path: str, query: str, site: str | None) -> Response:
        """Answer a first visit: the token becomes a cookie, and leaves the address."""
        path = quote(path if path.startswith("/") and not path.startswith("//") else "/")
        address = path + (f"?{query}" if query else "")
        answer: Response = RedirectResponse(address, 303)
        if site not in _OURS:
            # A link in a page of elsewhere, a terminal in the browser, say: the browser would follow a redirection
            # without the cookie, which it sends only where we have led it ourselves.
            answer = HTMLResponse(f'<meta http-equiv="refresh" content="0;url={html.escape(address)}">')
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return answer

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def _same_origin(self, headers: Headers) -> bool:
        """Tell whether a request comes from a page of this server.

        A browser says so in at least one of two headers. It hides the origin of a form behind ``null`` because of our
        ``Referrer-Policy``; then the other one must vouch for it.
        """
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if site is not None and site != "same-origin":
            return False
        ours = {f"http://{host}" for host in self.hosts if host == headers.get("host")}
        return origin in ours or (site == "same-origin" and origin in (None, "null"))


_CLOSED = "Open the address that bsx ui has printed: it holds the key to this page."


def _too_large(most: int) -> str:
    how = " Split the file, or make room on the disk." if most > _LARGEST_FORM else ""
    return f"This is more than {show_bytes(most)}, the most that is taken here.{how}"


def _refused(status: int, why: str) -> Response:
    return PlainTextResponse(f"{why}\n", status)


def _cookies(headers: Headers, name: str) -> Iterator[str]:
    """Yield the values of a cookie: other servers of this machine set some too, of its name or not even well formed."""
    for header in headers.getlist("cookie"):
        for part in header.split(";"):
            key, _, value = part.partition("=")
            if key.strip() == name:
                yield value.strip()


def _with_headers(send: Send) -> Send:
    """Return what sends an answer with the headers that every answer has."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sent


def _bounded(receive: Receive, most: int) -> Receive:
    """Return what receives a request's body, and refuses one that has more bytes than its headers told."""
    got = 0

    async def bounded() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > most:
            raise TooLargeError(_too_large(most))
        return message

    return bounded
