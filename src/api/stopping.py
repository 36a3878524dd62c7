"""Requests that the process cannot finish before it stops."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.api.problems import problem
from turnwise.errors import Unavailable


class Stopping:
    """Tells them to come again; the server, which gives them up, would call it an error of ours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answering = False

        async def sending(message: Message) -> None:
            nonlocal answering
            answering = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:
            if answering:
                raise
            refusal = problem(503, Unavailable.code, "The API is being stopped. Send the request again.")
            await refusal(scope, receive, send)
