"""What a tool is to those who choose and call it: its description, and where it is to be found."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from turnwise.errors import ToolLimitReached, ToolNameTaken
from turnwise.fcmp.events import ToolStatus
from turnwise.fcmp.graphemes import clipped
from turnwise.fcmp.jsonvalue import Json, JsonObject, Text, json_bytes
from turnwise.runs import Identifier

NAME_LENGTH = 200
DESCRIPTION_LENGTH = 4000
SHORT_LENGTH = 80
PARAMETERS_MAX_BYTES = 64 * 1024
MAX_TOOLS = 256
"""Of one session: no model can choose among more, and each turn loads them all."""

_SENTENCE_END = re.compile(r"[.!?](?=\s+[^a-z\s])|[。！？]")
"""A full stop before a small letter is an abbreviation."""


class ToolSource(StrEnum):
    NATIVE = "native"
    """A Python function that the worker knows by name."""
    MCP = "mcp"
    """A tool of an MCP server that the worker is configured with."""


class ToolDescriptor(BaseModel):
    name: Identifier
    description: Text
    short_description: Text
    parameters: JsonObject
    """The JSON Schema of the arguments."""
    source: ToolSource
    enabled: bool = True

    @classmethod
    def of(cls, name: str, about: str, parameters: JsonObject, source: ToolSource) -> Self:
        """Raises ValueError for what is not fit to be kept and shown; a description that is too long is clipped."""
        if (size := len(json_bytes(parameters))) > PARAMETERS_MAX_BYTES:
            raise ValueError(
                f"the schema of its arguments has {size} bytes; at most {PARAMETERS_MAX_BYTES} are allowed"
            )
        return cls(
            name=name,
            description=clipped(about, DESCRIPTION_LENGTH),
            short_description=shortened(about),
            parameters=parameters,
            source=source,
        )


class ToolRequest(BaseModel):
    """What a session asks to register; without a name, all tools of the server."""

    model_config = ConfigDict(extra="forbid")

    source: ToolSource
    name: Identifier | None = None
    server: Identifier | None = None

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if self.source is ToolSource.NATIVE and self.name is None:
            raise ValueError("a native tool is asked for by name")
        if self.source is ToolSource.NATIVE and self.server is not None:
            raise ValueError("a native tool has no server")
        if self.source is ToolSource.MCP and self.server is None:
            raise ValueError("an mcp tool needs the name of its server")
        return self


class ToolBinding(BaseModel):
    """A tool as a session keeps it. How its server is reached, and with which secrets, is known to the worker alone."""

    descriptor: ToolDescriptor
    server: str | None
    remote_name: str
    """What the function or the server itself calls the tool."""

    @property
    def origin(self) -> tuple[str | None, str]:
        return self.server, self.remote_name

    def named(self, name: str, *, enabled: bool) -> Self:
        descriptor = self.descriptor.model_copy(update={"name": name, "enabled": enabled})
        return self.model_copy(update={"descriptor": descriptor})


class ToolOutcome(BaseModel):
    status: ToolStatus
    result: Json
    """Of a failed call: `{"error": "…"}`."""


def shortened(description: str) -> str:
    """The first sentence or line, in at most 80 user-visible characters."""
    line = next((line.strip() for line in description.splitlines() if line.strip()), "")
    end = _SENTENCE_END.search(line)
    return clipped(line[: end.end()] if end else line, SHORT_LENGTH)


def registered(
    known: Iterable[ToolBinding], new: Iterable[ToolBinding], whole_server: str | None = None
) -> list[ToolBinding]:
    """The tools of a session after `new` was registered, in the order of their first registration.

    A tool that is registered again is taken as it is now, and keeps its name, its place, and whether it is enabled. One
    whose name another tool has already is called `server.name`. With `whole_server`, `new` is all that this server has:
    what it had before and has no more is gone.
    """
    new = list(new)
    offered = {binding.origin for binding in new}
    kept = [each for each in known if whole_server is None or each.server != whole_server or each.origin in offered]
    tools = {binding.descriptor.name: binding for binding in kept}
    names = {binding.origin: binding.descriptor.name for binding in kept}
    for binding in new:
        name = names.get(binding.origin) or _free_name(binding, tools)
        before = tools.get(name)
        tools[name] = binding.named(name, enabled=before.descriptor.enabled if before else True)
    if len(tools) > MAX_TOOLS:
        raise ToolLimitReached(f"A session may have {MAX_TOOLS} tools; with these it would have {len(tools)}.")
    return list(tools.values())


def _free_name(binding: ToolBinding, taken: dict[str, ToolBinding]) -> str:
    own = binding.descriptor.name
    if own not in taken:
        return own
    qualified = f"{binding.server or ToolSource.NATIVE}.{own}"
    if qualified in taken or len(qualified) > NAME_LENGTH:
        raise ToolNameTaken(f"The session has another tool '{own}', and '{qualified}' cannot be its name either.")
    return qualified
