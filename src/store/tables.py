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
    Column("prompt_id", String(200)),  # of a run that a session executes: which of its prompts this is
    Column("accepted_ttl_sec", Float, nullable=False),
    Column("stall_after_sec", Float, nullable=False),
    Column("status", String(20), nullable=False),
    Column("status_reason", String(30), nullable=False),
    Column("status_since", String(32), nullable=False),
    Column("last_activity_at", String(32)),
    Column("status_due_at", String(32)),  # when to look whether time alone has changed the status; not later
    Column("task_queue", String(1000)),  # of the workers that execute it; not known of runs of before
    Index("runs_newest", "created_at", "run_id"),
    Index("runs_newest_by_state", "state", "created_at", "run_id"),
    Index("runs_by_due_status", "status_due_at"),
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
    Column("restarted", Boolean, nullable=False),  # when it began to serve, nobody else did
)

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", String(1000), primary_key=True),
    Column("execution_id", String(64), nullable=False),  # the first Temporal execution of this session
    Column("defaults", Text, nullable=False),  # the settings of its runs
    Column("request_digest", String(64)),  # what an Idempotency-Key was first used for
    Column("parent_session_id", String(1000)),
    Column("lineage", Text, nullable=False),  # the branches that its transcript begins with, which it shares
    Column("branch", String(64), nullable=False),  # the branch that it writes to
    Column("entry_count", Integer, nullable=False),
    Column("counts", Text, nullable=False),  # of the entries, by sort
    Column("last_seq", Integer, nullable=False),
    Column("version", Integer, nullable=False),  # grows with everything that a watcher could see
    Column("active_run_id", String(1000)),
    Column("created_at", String(32), nullable=False),
    Column("last_updated_at", String(32)),
    Column("closed_at", String(32)),
    Column("newest_run_id", String(1000)),  # of the newest prompt that was started: the session's status is its
    Column("task_queue", String(1000)),  # of the workers that execute it; not known of sessions of before
    Index("sessions_newest", "created_at", "session_id"),
)

session_events = Table(
    "session_events",
    metadata,
    Column("session_id", String(1000), primary_key=True),
    Column("session_seq", Integer, primary_key=True),
    Column("run_id", String(1000), nullable=False),
    Column("seq", Integer, nullable=False),
)

entries = Table(
    "entries",
    metadata,
    Column("branch", String(64), primary_key=True),
    Column("entry_index", Integer, primary_key=True),
    Column("is_prompt", Boolean, nullable=False),  # a session can be forked here
    Column("body", Text, nullable=False),
    Column("counts", Text, nullable=False),  # how many of each sort there are up to here
    Index("entries_forkable", "branch", "is_prompt", "entry_index"),
)

session_items = Table(
    "session_items",
    metadata,
    Column("session_id", String(1000), primary_key=True),
    Column("prompt_id", String(200), primary_key=True),
    Column("position", Integer, nullable=False),  # in the order in which they came
    Column("source", String(30), nullable=False),
    Column("status", String(20), nullable=False),
    Column("text_json", Text, nullable=False),  # the beginning of it, enough for any preview
    Column("run_id", String(1000), nullable=False),  # what its run is called once there is one
    Column("started", Boolean, nullable=False),  # there is one
    Column("state", String(20)),  # how it ended
    Column("error_code", String(100)),
    Column("error_message", Text),
    Column("ended", Integer),  # in the order in which they ended
    Column("shown", Boolean, nullable=False),  # until the history is cleared
    Index("session_items_by_status", "session_id", "status", "position"),
)

session_tools = Table(
    "session_tools",
    metadata,
    Column("session_id", String(1000), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("binding", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
)
