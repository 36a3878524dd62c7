"""Bounds on what comes from outside."""

import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.api.problems import problem

MAX_BODY_BYTES = 1024 * 1024
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
PORT = re.compile(r":\d+$")
TOO_LARGE = f"A request body is limited to {MAX_BODY_BYTES} bytes."


class HostCheck:
    """Refuses requests for a name that is not ours: what a page does whose name was pointed at this machine."""

    def __init__(self, app: ASGIApp, allowed_hosts: frozenset[str]) -> None:
        self._app = app
        self._allowed = allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "*" not in self._allowed:
            host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
            if PORT.sub("", host).lower().removesuffix(".") not in self._allowed:
                await problem(400, "HOST_NOT_ALLOWED", "This name is not in TURNWISE_API_ALLOWED_HOSTS.")(
                    scope, receive, send
                )
                return
        await self._app(scope, receive, send)


class OriginCheck:
    """Refuses what a page of somebody else's makes a browser send: the API has no login that could tell them apart."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS and _is_foreign(Headers(scope=scope)):
            refusal = problem(403, "ORIGIN_NOT_ALLOWED", "A page of another origin may change nothing here.")
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_foreign(headers: Headers) -> bool:
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:  # the browser's own word, which holds behind proxies too
        return site not in ("same-origin", "none")
    return origin is not None and origin.partition("://")[2] != headers.get("host")


class BodyLimit:
    """Refuses a body over 1 MiB, by its declared length or, when that is missing, as soon as too much was read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if int(declared) > MAX_BODY_BYTES:
            await problem(413, "BODY_TOO_LARGE", TOO_LARGE)(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > MAX_BODY_BYTES:
                raise HTTPException(413, TOO_LARGE)
            return message

        await self._app(scope, counted, send)
