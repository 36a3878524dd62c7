"""Whose runs and sessions are whose, where several task queues share a database; and what a worker's start was."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("runs", sa.Column("task_queue", sa.String(1000)))
    op.add_column("sessions", sa.Column("task_queue", sa.String(1000)))
    op.add_column("workers", sa.Column("restarted", sa.Boolean, nullable=False, server_default=sa.false()))
