"""Which MCP servers a worker knows, and how they are reached: from a file on its machine, and from nowhere else."""

import os
import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    ValidationError,
)

from turnwise.errors import SetupError, first_fault
from turnwise.runs import Identifier

SECRET_MIN_LENGTH = 6
"""Shorter values (`1`, `true`) are no secrets, and would be found in every second sentence."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class _Server(BaseModel):
    """Nothing of it is shown when it is printed: its arguments may be secrets as well."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    __str__ = __repr__


class StdioServer(_Server):
    type: Literal["stdio"] = "stdio"
    command: Annotated[str, StringConstraints(min_length=1)]
    args: list[str] = []
    env: dict[str, str] = {}
    """Beyond a few harmless variables (`PATH`, `HOME`, …) all that the server gets to see of our environment."""

    def secrets(self) -> list[str]:
        return list(self.env.values())


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:  # a bad port raises ValueError
        raise ValueError("an address begins with http:// or https:// and a host")
    return url


HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
HeaderValue = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[\x20-\x7e]*$")]
"""Without the line break at its end that a secret from a file often has."""


class HttpServer(_Server):
    type: Literal["http", "streamable-http"] = "http"
    url: Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]+$"), AfterValidator(_address)]
    headers: dict[HeaderName, HeaderValue] = {}

    def secrets(self) -> list[str]:
        """The words of a header and the parts of an address count one by one as well."""
        words = [word for value in self.headers.values() for word in _words(value)]
        parts = urlsplit(self.url)
        query = [value for _, value in parse_qsl(parts.query)]
        shown = [self.url, parts.path, parts.query, parts.username or "", parts.password or ""]
        return [*self.headers.values(), *words, *query, *shown, *map(unquote, shown)]


def _words(header: str) -> list[str]:
    first, *others = header.split() or [""]
    return others if others and first.isalpha() else [first, *others]  # without the `Bearer` before a token


Server = StdioServer | HttpServer


class _File(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)

    mcpServers: dict[
        Identifier,
        Annotated[
            Annotated[StdioServer, Tag("stdio")] | Annotated[HttpServer, Tag("http")],
            Discriminator(lambda value: "http" if isinstance(value, dict) and "url" in value else "stdio"),
        ],
    ]


class Config(BaseModel):
    servers: dict[str, Server] = {}
    secrets: list[str] = Field(default=[], repr=False)
    """What must not be read in a log or an error."""

    def redacted(self, text: str) -> str:
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def read_config(path: Path) -> Config:
    try:
        content = orjson.loads(path.read_bytes())
    except OSError as error:
        raise SetupError(f"The file {path} (TURNWISE_MCP_CONFIG) cannot be read: {error.strerror}.") from error
    except orjson.JSONDecodeError as error:
        raise SetupError(f"The file {path} (TURNWISE_MCP_CONFIG) is not JSON: {error}.") from error
    used: list[str] = []
    try:
        servers = _File.model_validate(_expanded(content, used)).mcpServers
    except KeyError as error:
        raise SetupError(
            f"The file {path} (TURNWISE_MCP_CONFIG) uses ${{{error.args[0]}}}, which is not set in the environment."
        ) from None
    except ValidationError as error:
        raise SetupError(f"The file {path} (TURNWISE_MCP_CONFIG) has a fault: {first_fault(error)}.") from None
    secrets = {*used, *(secret for server in servers.values() for secret in server.secrets())}
    return Config(servers=dict(servers), secrets=[each for each in secrets if len(each) >= SECRET_MIN_LENGTH])


def _expanded(value: JsonValue, used: list[str]) -> JsonValue:
    """With the values of its variables, each of which is noted in `used`."""

    def look_up(match: re.Match[str]) -> str:
        used.append(os.environ[match[1]])
        return used[-1]

    if isinstance(value, str):
        return _VARIABLE.sub(look_up, value)
    if isinstance(value, list):
        return [_expanded(each, used) for each in value]
    if isinstance(value, dict):
        return {name: _expanded(each, used) for name, each in value.items()}
    return value
