"""The tables. JSON and instants are stored as text, so that both databases hold and compare the same bytes."""

from sqlalchemy import Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

metadata = MetaData()

runs = Table(
    "runs",
    metadata,
    Column("run_id", String(1000), primary_key=True),
    Column("execution_id", String(64)),  # the first Temporal execution of this run; tells a reused workflow id
    Column("session_id", String(200)),
    Column("engine", String(200), nullable=False),
    Column("input", Text, nullable=False),
    Column("request_digest", String(64)),  # what an Idempotency-Key was first used for
    Column("interactive_require_user_reply", Boolean, nullable=False),
    Column("state", String(20), nullable=False),
    Column("attempt", Integer, nullable=False),  # the newest turn that was opened
    Column("closed_attempt", Integer, nullable=False),  # the newest turn that was closed: the fence
    Column("pending_interaction_id", Integer),
    Column("interaction_count", Integer, nullable=False),
    Column("auto_decision_count", Integer, nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("last_audit_seq", Integer, nullable=False),
    Column("version", Integer, nullable=False),  # grows with everything that a watcher could see
    Column("error_code", String(100)),
    Column("error_message", Text),
    Column("recovery_state", String(30), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("updated_at", String(32), nullable=False),
    Column("ended_at", String(32)),
    Column("turn_owner", String(64)),  # the worker that opened the newest turn
    Column("recovered_at", String(32)),
    Column("recovery_reason", Text),
    Index("runs_newest", "created_at", "run_id"),
    Index("runs_newest_by_state", "state", "created_at", "run_id"),
)

events = Table(
    "events",
    metadata,
    Column("run_id", String(1000), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("key", String(200), nullable=False),
    Column("body", Text, nullable=False),  # the whole FCMP record, byte for byte as watchers get it
    UniqueConstraint("run_id", "key", name="events_once"),
)

live_messages = Table(
    "live_messages",
    metadata,
    Column("run_id", String(1000), primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("message_id", String(100), nullable=False),
    Column("text_json", Text, nullable=False),  # encoded: PostgreSQL's text takes no NUL, an engine's output may
)

interactions = Table(
    "interactions",
    metadata,
    Column("run_id", String(1000), primary_key=True),
    Column("interaction_id", Integer, primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("question", Text, nullable=False),
    Column("asked_at", String(32), nullable=False),
    Column("resolution", Text),  # the data of the event that resolved it
    Column("resolved_at", String(32)),
)

audit = Table(
    "audit",
    metadata,
    Column("run_id", String(1000), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("ts", String(32), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("source", String(200), nullable=False),
    Column("event", String(100), nullable=False),
    Column("data", Text, nullable=False),
)

blobs = Table(
    "blobs",
    metadata,
    Column("ref", String(80), primary_key=True),
    Column("body", Text, nullable=False),
)

request_interactive_runtime = Table(
    "request_interactive_runtime",
    metadata,
    Column("request_id", String(1000), primary_key=True),
    Column("effective_session_timeout_sec", Float, nullable=False),
    Column("session_handle_json", Text),
    Column("updated_at", String(32), nullable=False),
)

workers = Table(
    "workers",
    metadata,
    Column("worker_id", String(64), primary_key=True),
    Column("task_queue", String(1000), nullable=False),
    Column("beats", Integer, nullable=False),  # grows while the worker lives
    Column("serving", Boolean, nullable=False),  # it has found out whether its start is a restart
    Column("left", Boolean, nullable=False),  # it stopped in order
)
