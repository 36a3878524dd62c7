"""Server-Sent Events as a client reads them."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass
class Frame:
    event: str
    data: Any
    id: str | None


async def frames_of(response: httpx.Response) -> AsyncIterator[Frame]:
    """Only whole frames: what a broken connection has cut off does not count."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Frame(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}
