"""The truthful status of runs, and which run a session takes its own from."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

BY_STATE = {
    "queued": ("accepted", "input_accepted"),
    "running": ("awaiting_output", "turn_started"),
    "waiting_user": ("completed", "question_asked"),
    "succeeded": ("completed", "run_succeeded"),
    "failed": ("error", "run_failed"),
    "canceled": ("closed", "run_canceled"),
}
"""When a run of before last put something out is not known; what is known of it is its state."""

runs = sa.table(
    "runs",
    *(
        sa.column(name)
        for name in (
            "run_id",
            "session_id",
            "prompt_id",
            "state",
            "created_at",
            "updated_at",
            "status",
            "status_reason",
            "status_since",
            "status_due_at",
        )
    ),
)
sessions = sa.table("sessions", sa.column("session_id"), sa.column("newest_run_id"))


def upgrade() -> None:
    op.add_column("runs", sa.Column("accepted_ttl_sec", sa.Float, nullable=False, server_default="3"))
    op.add_column("runs", sa.Column("stall_after_sec", sa.Float, nullable=False, server_default="120"))
    op.add_column("runs", sa.Column("status", sa.String(20), nullable=False, server_default=""))
    op.add_column("runs", sa.Column("status_reason", sa.String(30), nullable=False, server_default=""))
    op.add_column("runs", sa.Column("status_since", sa.String(32), nullable=False, server_default=""))
    op.add_column("runs", sa.Column("last_activity_at", sa.String(32)))
    op.add_column("runs", sa.Column("status_due_at", sa.String(32)))
    op.create_index("runs_by_due_status", "runs", ["status_due_at"])
    op.add_column("sessions", sa.Column("newest_run_id", sa.String(1000)))
    for state, (status, reason) in BY_STATE.items():
        clock = runs.c.updated_at if status in ("accepted", "awaiting_output") else sa.null()
        op.execute(
            runs.update()
            .where(runs.c.state == state)
            .values(status=status, status_reason=reason, status_since=runs.c.updated_at, status_due_at=clock)
        )
    newest = (
        sa.select(runs.c.run_id)
        .where(runs.c.session_id == sessions.c.session_id, runs.c.prompt_id.is_not(None))
        .order_by(runs.c.created_at.desc())
        .limit(1)
        .scalar_subquery()
    )
    op.execute(sessions.update().values(newest_run_id=newest))
