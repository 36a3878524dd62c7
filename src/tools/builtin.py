"""The tools that are always there, so that there is something to try."""

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from turnwise.fcmp.graphemes import graphemes
from turnwise.tools.native import NativeTools


def builtin_tools() -> NativeTools:
    tools = NativeTools()
    tools.add(now, name="clock.now")
    tools.add(count, name="text.count")
    return tools


def now(timezone: Annotated[str, Field(description="Its IANA name, such as Europe/Paris.")] = "UTC") -> str:
    """The current date and time in a time zone, as ISO 8601."""
    return datetime.now(UTC if timezone == "UTC" else ZoneInfo(timezone)).isoformat(timespec="seconds")


def count(text: str) -> dict[str, int]:
    """Counts the user-visible characters, words and lines of a text."""
    return {"characters": len(graphemes(text)), "words": len(text.split()), "lines": len(text.splitlines())}
