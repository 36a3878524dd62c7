"""Who runs a turn, which workers there are, and what a restart did to a run."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("runs", sa.Column("turn_owner", sa.String(64)))
    op.add_column("runs", sa.Column("recovered_at", sa.String(32)))
    op.add_column("runs", sa.Column("recovery_reason", sa.Text))
    op.create_table(
        "workers",
        sa.Column("worker_id", sa.String(64), primary_key=True),
        sa.Column("task_queue", sa.String(1000), nullable=False),
        sa.Column("beats", sa.Integer, nullable=False),
        sa.Column("serving", sa.Boolean, nullable=False),
        sa.Column("left", sa.Boolean, nullable=False),
    )
