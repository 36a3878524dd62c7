"""A session in a few words."""

from turnwise.sessions import ItemSource, SessionView
from turnwise.wording.texts import one_line

SOURCES: dict[ItemSource, str] = {
    ItemSource.PROMPT: "prompt",
    ItemSource.PROMPT_FOLLOW_UP: "queued prompt",
    ItemSource.STEER: "steering",
    ItemSource.FOLLOW_UP: "follow-up",
}
"""How an input came, in words."""


def session_title(view: SessionView, limit: int) -> str:
    """The first prompt of its own: people know it by that."""
    return one_line(view.prompt_preview, limit) or ("(a fork)" if view.parent_session_id else "(nothing said yet)")
