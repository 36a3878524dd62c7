"""Sessions: their transcripts, queues and tools, and one order of events over all runs of each."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("runs", sa.Column("prompt_id", sa.String(200)))
    op.create_table(
        "sessions",
        sa.Column("session_id", sa.String(1000), primary_key=True),
        sa.Column("execution_id", sa.String(64), nullable=False),
        sa.Column("defaults", sa.Text, nullable=False),
        sa.Column("request_digest", sa.String(64)),
        sa.Column("parent_session_id", sa.String(1000)),
        sa.Column("lineage", sa.Text, nullable=False),
        sa.Column("branch", sa.String(64), nullable=False),
        sa.Column("entry_count", sa.Integer, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("active_run_id", sa.String(1000)),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("last_updated_at", sa.String(32)),
        sa.Column("closed_at", sa.String(32)),
    )
    op.create_index("sessions_newest", "sessions", ["created_at", "session_id"])
    op.create_table(
        "session_events",
        sa.Column("session_id", sa.String(1000), primary_key=True),
        sa.Column("session_seq", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.String(1000), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
    )
    op.create_table(
        "entries",
        sa.Column("branch", sa.String(64), primary_key=True),
        sa.Column("entry_index", sa.Integer, primary_key=True),
        sa.Column("is_prompt", sa.Boolean, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
    )
    op.create_index("entries_forkable", "entries", ["branch", "is_prompt", "entry_index"])
    op.create_table(
        "session_items",
        sa.Column("session_id", sa.String(1000), primary_key=True),
        sa.Column("prompt_id", sa.String(200), primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("source", sa.String(30), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("text_json", sa.Text, nullable=False),
        sa.Column("run_id", sa.String(1000), nullable=False),
        sa.Column("started", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(20)),
        sa.Column("error_code", sa.String(100)),
        sa.Column("error_message", sa.Text),
        sa.Column("ended", sa.Integer),
        sa.Column("shown", sa.Boolean, nullable=False),
    )
    op.create_index("session_items_by_status", "session_items", ["session_id", "status", "position"])
    op.create_table(
        "session_tools",
        sa.Column("session_id", sa.String(1000), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("binding", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
    )
