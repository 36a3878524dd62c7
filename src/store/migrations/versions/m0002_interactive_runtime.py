"""`request_interactive_runtime` with its four fields, carrying over the rows of the older table if there is one."""

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

TABLE = "request_interactive_runtime"
OLDER = "request_interactive_runtime_older"
DROPPED = {"profile_json", "wait_deadline_at", "process_binding_json"}
DEFAULT_TIMEOUT_SEC = 1200.0


def upgrade() -> None:
    bind = op.get_bind()
    inspector = sa.inspect(bind)
    if not inspector.has_table(TABLE):
        _create()
        return
    if DROPPED.isdisjoint(column["name"] for column in inspector.get_columns(TABLE)):
        return
    primary_key = inspector.get_pk_constraint(TABLE)["name"]
    op.rename_table(TABLE, OLDER)
    if bind.dialect.name == "postgresql" and primary_key:
        # The primary key's index keeps its name through the rename, and the new table wants that name.
        op.execute(f'ALTER TABLE {OLDER} RENAME CONSTRAINT "{primary_key}" TO {OLDER}_pkey')
    table = _create()
    older = sa.table(OLDER)
    rows = bind.execute(sa.select(sa.text("*")).select_from(older)).mappings().all()
    if rows:
        op.bulk_insert(table, [_carried_over(dict(row)) for row in rows])
    op.drop_table(OLDER)


def _create() -> sa.Table:
    return op.create_table(
        TABLE,
        sa.Column("request_id", sa.String(1000), primary_key=True),
        sa.Column("effective_session_timeout_sec", sa.Float, nullable=False),
        sa.Column("session_handle_json", sa.Text),
        sa.Column("updated_at", sa.String(32), nullable=False),
    )


def _carried_over(row: Mapping[str, Any]) -> dict[str, object]:
    updated_at = row.get("updated_at") or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "request_id": row["request_id"],
        "effective_session_timeout_sec": _timeout(row),
        "session_handle_json": row.get("session_handle_json"),
        "updated_at": updated_at if isinstance(updated_at, str) else updated_at.isoformat(),
    }


def _timeout(row: Mapping[str, Any]) -> float:
    """The row's own column, else what its profile said, else the default: no row is lost for want of a number."""
    candidates = [row.get("effective_session_timeout_sec")]
    try:
        profile = json.loads(row.get("profile_json") or "{}")
    except ValueError:
        profile = {}
    if isinstance(profile, dict):
        candidates += [profile.get("session_timeout_sec"), profile.get("effective_session_timeout_sec")]
    return next((seconds for seconds in map(_seconds, candidates) if seconds is not None), DEFAULT_TIMEOUT_SEC)


def _seconds(value: object) -> float | None:
    """JSON as Python reads it also has `true`, `NaN` and integers that no column holds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max:
        return float(value)
    return None
