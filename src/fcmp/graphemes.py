"""User-visible characters: what a person counts, so that an emoji is never cut in two."""

import regex

MAX_CODE_POINTS = 64
"""Of one character, when a long text is clipped: more of them is a joke, not a character."""


def graphemes(text: str) -> list[str]:
    found: list[str] = regex.findall(r"\X", text)
    return found


def clipped(text: str, limit: int) -> str:
    """At most `limit` user-visible characters; the last of them is `…` when something was left out."""
    return _shortened(text, limit, limit - 1, "…")


def preview(text: str, limit: int) -> str:
    """The first `limit` user-visible characters, followed by `...` when something was left out."""
    return _shortened(text, limit, limit, "...")


def _shortened(text: str, limit: int, kept: int, sign: str) -> str:
    if len(text) <= limit:
        return text
    looked_at = text[: limit * MAX_CODE_POINTS]
    found = graphemes(looked_at)
    return text if len(found) <= limit and looked_at == text else "".join(found[:kept]) + sign
