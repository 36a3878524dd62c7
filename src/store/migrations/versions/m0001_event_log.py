"""Runs, their event log, questions, live text, audit trail and large inputs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.String(1000), primary_key=True),
        sa.Column("execution_id", sa.String(64)),
        sa.Column("session_id", sa.String(200)),
        sa.Column("engine", sa.String(200), nullable=False),
        sa.Column("input", sa.Text, nullable=False),
        sa.Column("request_digest", sa.String(64)),
        sa.Column("interactive_require_user_reply", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("closed_attempt", sa.Integer, nullable=False),
        sa.Column("pending_interaction_id", sa.Integer),
        sa.Column("interaction_count", sa.Integer, nullable=False),
        sa.Column("auto_decision_count", sa.Integer, nullable=False),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("last_audit_seq", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("error_code", sa.String(100)),
        sa.Column("error_message", sa.Text),
        sa.Column("recovery_state", sa.String(30), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("updated_at", sa.String(32), nullable=False),
        sa.Column("ended_at", sa.String(32)),
    )
    op.create_index("runs_newest", "runs", ["created_at", "run_id"])
    op.create_index("runs_newest_by_state", "runs", ["state", "created_at", "run_id"])
    op.create_table(
        "events",
        sa.Column("run_id", sa.String(1000), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.UniqueConstraint("run_id", "key", name="events_once"),
    )
    op.create_table(
        "live_messages",
        sa.Column("run_id", sa.String(1000), primary_key=True),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("message_id", sa.String(100), nullable=False),
        sa.Column("text_json", sa.Text, nullable=False),
    )
    op.create_table(
        "interactions",
        sa.Column("run_id", sa.String(1000), primary_key=True),
        sa.Column("interaction_id", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("asked_at", sa.String(32), nullable=False),
        sa.Column("resolution", sa.Text),
        sa.Column("resolved_at", sa.String(32)),
    )
    op.create_table(
        "audit",
        sa.Column("run_id", sa.String(1000), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("ts", sa.String(32), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("event", sa.String(100), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_table(
        "blobs",
        sa.Column("ref", sa.String(80), primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
