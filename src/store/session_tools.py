"""The tools that a session has registered."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from turnwise.descriptors import ToolBinding, registered
from turnwise.errors import ToolNotFound
from turnwise.store.tables import session_tools

_OF_SESSION = session_tools.c.session_id == bindparam("session")
_ONE = _OF_SESSION & (session_tools.c.name == bindparam("tool"))
_LOAD = select(session_tools.c.binding, session_tools.c.enabled).where(_OF_SESSION).order_by(session_tools.c.position)
_ADD = insert(session_tools)
_CLEAR = delete(session_tools).where(_OF_SESSION)
_DELETE = delete(session_tools).where(_ONE)
_ENABLE = update(session_tools).where(_ONE).values(enabled=bindparam("on"))
_SHARED = ("name", "position", "binding", "enabled")
_COPY = insert(session_tools).from_select(
    ("session_id", *_SHARED),
    select(
        bindparam("fork", type_=session_tools.c.session_id.type), *(session_tools.c[name] for name in _SHARED)
    ).where(_OF_SESSION),
)


def load_tools(connection: Connection, session_id: str) -> list[ToolBinding]:
    """Each with its own `enabled`, in the order of registration."""
    found = []
    for row in connection.execute(_LOAD, {"session": session_id}):
        binding = ToolBinding.model_validate_json(row.binding)
        binding.descriptor.enabled = row.enabled
        found.append(binding)
    return found


def register_tools(
    connection: Connection, session_id: str, new: Sequence[ToolBinding], whole_server: str | None
) -> list[ToolBinding]:
    """Those that are new, as the session has them now."""
    tools = registered(load_tools(connection, session_id), new, whole_server)
    rows = [
        {
            "session_id": session_id,
            "name": binding.descriptor.name,
            "position": position,
            "binding": binding.model_dump_json(),
            "enabled": binding.descriptor.enabled,
        }
        for position, binding in enumerate(tools, 1)
    ]
    connection.execute(_CLEAR, {"session": session_id})
    if rows:
        connection.execute(_ADD, rows)
    origins = {binding.origin for binding in new}
    return [binding for binding in tools if binding.origin in origins]


def copy_tools(connection: Connection, session_id: str, fork_id: str) -> None:
    """To a fork; what becomes of them in either is nothing to the other."""
    connection.execute(_COPY, {"session": session_id, "fork": fork_id})


def remove_tool(connection: Connection, session_id: str, name: str) -> None:
    if connection.execute(_DELETE, {"session": session_id, "tool": name}).rowcount == 0:
        raise ToolNotFound(f"The session has no tool '{name}'.")


def enable_tool(connection: Connection, session_id: str, name: str, enabled: bool) -> None:
    if connection.execute(_ENABLE, {"session": session_id, "tool": name, "on": enabled}).rowcount == 0:
        raise ToolNotFound(f"The session has no tool '{name}'.")
