"""Bringing a database to the newest schema: from nothing, from an older table, twice, and two processes at once."""

import asyncio
import contextlib
import multiprocessing
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, inspect, text

from turnwise.statechart import State
from turnwise.store import Store, migrations
from turnwise.store.database import parse_url
from turnwise.store.migrations import HEAD
from turnwise.store.tables import metadata

TABLE = "request_interactive_runtime"
UPDATED_AT = "2025-06-07T08:09:10.123456+00:00"

OLDER = f"""
CREATE TABLE {TABLE} (
    request_id TEXT PRIMARY KEY,
    profile_json TEXT NOT NULL,
    effective_session_timeout_sec INTEGER,
    session_handle_json TEXT,
    wait_deadline_at TEXT,
    process_binding_json TEXT,
    updated_at TEXT NOT NULL
)"""

OLDEST = f"""
CREATE TABLE {TABLE} (
    request_id TEXT PRIMARY KEY,
    profile_json TEXT,
    wait_deadline_at TEXT,
    process_binding_json TEXT,
    updated_at TEXT
)"""
"""Before there were columns for timeout and handle: the timeout was in the profile."""

TIMEOUT_OF_PROFILE = {
    '{"session_timeout_sec": 90}': 90.0,
    '{"session_timeout_sec": 0}': 0.0,
    '{"session_timeout_sec": 2.5, "kind": "sticky_process"}': 2.5,
    '{"session_timeout_sec": null}': 1200.0,
    '{"session_timeout_sec": "soon"}': 1200.0,
    '{"session_timeout_sec": true}': 1200.0,
    '{"session_timeout_sec": -1}': 1200.0,
    '{"session_timeout_sec": NaN}': 1200.0,
    '{"session_timeout_sec": 1e999}': 1200.0,
    '{"session_timeout_sec": 1' + "0" * 400 + "}": 1200.0,
    "{}": 1200.0,
    "[1, 2]": 1200.0,
    '"text"': 1200.0,
    "": 1200.0,
    '{"session_timeout_sec": 90': 1200.0,
    "{broken": 1200.0,
}

Row = dict[str, Any]


@pytest.fixture
def engine(store_url: str) -> Iterator[Engine]:
    engine = create_engine(parse_url(store_url))
    yield engine
    engine.dispose()


def create_older(engine: Engine, table: str, rows: list[Row]) -> None:
    with engine.begin() as connection:
        connection.execute(text(table))
        for row in rows:
            columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO {TABLE} ({columns}) VALUES ({values})"), row)  # noqa: S608


def read(engine: Engine, table: str = TABLE, order: str = "request_id") -> list[Row]:
    with engine.connect() as connection:
        query = f"SELECT * FROM {table} ORDER BY {order}"  # noqa: S608
        return [dict(row) for row in connection.execute(text(query)).mappings()]


def schema(engine: Engine) -> dict[str, object]:
    """The whole schema as the database tells it."""
    inspector = inspect(engine)
    return {
        table: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)],
            inspector.get_pk_constraint(table)["constrained_columns"],
            sorted((index["name"] or "", tuple(index["column_names"])) for index in inspector.get_indexes(table)),
            sorted(
                (each["name"] or "", tuple(each["column_names"])) for each in inspector.get_unique_constraints(table)
            ),
        )
        for table in sorted(inspector.get_table_names())
    }


async def migrate(store_url: str) -> None:
    store = Store(store_url)
    try:
        await store.open()
    finally:
        await store.close()


async def test_a_fresh_database_has_the_tables_that_the_code_works_with(store_url: str, engine: Engine) -> None:
    await migrate(store_url)
    migrated = schema(engine)
    assert migrated.pop("alembic_version")
    with engine.begin() as connection:
        for table in migrated:
            connection.execute(text(f"DROP TABLE {table}"))
        metadata.create_all(connection)
    declared = schema(engine)
    declared.pop("alembic_version")
    assert migrated == declared
    assert set(declared) == set(metadata.tables)


def create_at(engine: Engine, revision: str) -> None:
    """The database as an older release has left it."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__path__[0])))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


RUN_OF_BEFORE: Row = {
    "engine": "scripted",
    "input": "{}",
    "interactive_require_user_reply": True,
    "attempt": 1,
    "closed_attempt": 0,
    "interaction_count": 0,
    "auto_decision_count": 0,
    "last_seq": 0,
    "last_audit_seq": 0,
    "version": 0,
    "recovery_state": "none",
}
SESSION_OF_BEFORE: Row = {
    "execution_id": "first",
    "defaults": "{}",
    "lineage": "[]",
    "branch": "b",
    "entry_count": 0,
    "counts": "{}",
    "last_seq": 0,
    "version": 0,
    "created_at": UPDATED_AT,
}


def add(engine: Engine, table: str, row: Row) -> None:
    columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    with engine.begin() as connection:
        connection.execute(text(f"INSERT INTO {table} ({columns}) VALUES ({values})"), row)  # noqa: S608


async def test_runs_and_sessions_of_before_get_the_status_that_follows_from_their_state(
    store_url: str, engine: Engine
) -> None:
    create_at(engine, "0004")
    for number, state in enumerate(State):
        times = {"created_at": f"2025-06-0{number + 1}", "updated_at": UPDATED_AT}
        of_session = {"session_id": "talked", "prompt_id": f"p{number}"}
        add(engine, "runs", {**RUN_OF_BEFORE, **times, **of_session, "run_id": state.value, "state": state.value})
    add(engine, "sessions", {**SESSION_OF_BEFORE, "session_id": "talked"})
    add(engine, "sessions", {**SESSION_OF_BEFORE, "session_id": "silent"})
    await migrate(store_url)
    assert {row["run_id"]: (row["status"], row["status_reason"]) for row in read(engine, "runs", "run_id")} == {
        "queued": ("accepted", "input_accepted"),
        "running": ("awaiting_output", "turn_started"),
        "waiting_user": ("completed", "question_asked"),
        "succeeded": ("completed", "run_succeeded"),
        "failed": ("error", "run_failed"),
        "canceled": ("closed", "run_canceled"),
    }
    for row in read(engine, "runs", "run_id"):
        assert (row["status_since"], row["last_activity_at"]) == (UPDATED_AT, None)
        assert (row["accepted_ttl_sec"], row["stall_after_sec"]) == (3, 120)
        assert row["status_due_at"] == (UPDATED_AT if row["run_id"] in ("queued", "running") else None)
    newest = {row["session_id"]: row["newest_run_id"] for row in read(engine, "sessions", "session_id")}
    assert newest == {"talked": "canceled", "silent": None}


async def test_opening_twice_changes_nothing(store_url: str, engine: Engine) -> None:
    await migrate(store_url)
    before = schema(engine)
    await migrate(store_url)
    assert schema(engine) == before
    assert read(engine, "alembic_version", "version_num") == [{"version_num": HEAD}]


async def test_an_older_database_is_carried_over_and_loses_no_row(store_url: str, engine: Engine) -> None:
    rows: list[Row] = [
        {
            "request_id": f"request-{number:03}",
            "profile_json": '{"kind": "resumable", "session_timeout_sec": 7}',
            "effective_session_timeout_sec": 600 + number,
            "session_handle_json": f'{{"session": "ü{number}"}}' if number % 2 else None,
            "wait_deadline_at": UPDATED_AT if number % 3 else None,
            "process_binding_json": '{"pid": 1}',
            "updated_at": UPDATED_AT,
        }
        for number in range(500)
    ]
    create_older(engine, OLDER, rows)
    await migrate(store_url)
    kept = ("request_id", "effective_session_timeout_sec", "session_handle_json", "updated_at")
    assert read(engine) == [{name: row[name] for name in kept} for row in rows]


async def test_the_dropped_columns_are_gone_and_so_is_the_older_table(store_url: str, engine: Engine) -> None:
    create_older(engine, OLDER, [])
    await migrate(store_url)
    migrated = schema(engine)
    migrated.pop("alembic_version")
    assert set(migrated) == set(metadata.tables)
    assert [column["name"] for column in inspect(engine).get_columns(TABLE)] == [
        "request_id",
        "effective_session_timeout_sec",
        "session_handle_json",
        "updated_at",
    ]


async def test_an_upgraded_database_has_the_schema_of_a_fresh_one(store_url: str, engine: Engine) -> None:
    create_older(engine, OLDER, [{"request_id": "a", "profile_json": "{}", "updated_at": UPDATED_AT}])
    await migrate(store_url)
    upgraded = schema(engine)
    with engine.begin() as connection:
        for table in upgraded:
            connection.execute(text(f"DROP TABLE {table}"))
    await migrate(store_url)
    assert upgraded == schema(engine)


@pytest.mark.parametrize("table", [OLDER, OLDEST], ids=["older", "oldest"])
async def test_without_a_timeout_of_its_own_a_row_takes_the_one_of_its_profile(
    table: str, store_url: str, engine: Engine
) -> None:
    rows: list[Row] = [
        {"request_id": f"r{number:02}", "profile_json": profile, "updated_at": UPDATED_AT}
        for number, profile in enumerate(TIMEOUT_OF_PROFILE)
    ]
    create_older(engine, table, rows)
    await migrate(store_url)
    assert read(engine) == [
        {
            "request_id": row["request_id"],
            "effective_session_timeout_sec": TIMEOUT_OF_PROFILE[row["profile_json"]],
            "session_handle_json": None,
            "updated_at": UPDATED_AT,
        }
        for row in rows
    ]


async def test_a_row_that_has_nothing_but_its_id_is_carried_over_too(store_url: str, engine: Engine) -> None:
    create_older(engine, OLDEST, [{"request_id": "a"}])
    await migrate(store_url)
    carried = read(engine)
    assert [(row["request_id"], row["effective_session_timeout_sec"]) for row in carried] == [("a", 1200.0)]
    assert carried[0]["updated_at"]


async def test_carrying_over_happens_once(store_url: str, engine: Engine) -> None:
    create_older(engine, OLDER, [{"request_id": "a", "profile_json": "{}", "updated_at": UPDATED_AT}])
    await migrate(store_url)
    before, rows = schema(engine), read(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {TABLE} SET effective_session_timeout_sec = 5"))  # noqa: S608
    await migrate(store_url)
    assert schema(engine) == before
    assert read(engine) == [{**row, "effective_session_timeout_sec": 5.0} for row in rows]


async def test_a_table_that_already_has_the_four_fields_is_left_as_it_is(store_url: str, engine: Engine) -> None:
    with engine.begin() as connection:
        metadata.tables[TABLE].create(connection)
        connection.execute(
            text(f"INSERT INTO {TABLE} VALUES ('a', 3.5, NULL, '{UPDATED_AT}')")  # noqa: S608
        )
    before = read(engine)
    await migrate(store_url)
    assert read(engine) == before


async def test_an_instant_that_the_older_database_kept_as_a_timestamp_becomes_text(
    postgres_url: str,
) -> None:
    engine = create_engine(parse_url(postgres_url))
    table = OLDER.replace("updated_at TEXT NOT NULL", "updated_at TIMESTAMPTZ NOT NULL")
    create_older(engine, table, [{"request_id": "a", "profile_json": "{}", "updated_at": UPDATED_AT}])
    await migrate(postgres_url)
    assert [row["updated_at"] for row in read(engine)] == [UPDATED_AT]
    engine.dispose()


async def test_two_stores_that_open_a_fresh_database_together_both_succeed(store_url: str, engine: Engine) -> None:
    stores = [Store(store_url) for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))
    await asyncio.gather(*(store.ping() for store in stores))
    await asyncio.gather(*(store.close() for store in stores))
    assert read(engine, "alembic_version", "version_num") == [{"version_num": HEAD}]


async def test_a_store_waits_for_somebody_who_is_just_making_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "turnwise.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        somebody.execute("CREATE TABLE theirs (x INTEGER)")
        opening = asyncio.create_task(migrate(f"sqlite:///{path}"))
        await asyncio.sleep(0.1)
        assert not opening.done()
        somebody.execute("COMMIT")
    await opening


def _migrate_in_a_process(store_url: str, together: Any) -> None:
    together.wait()
    asyncio.run(migrate(store_url))


async def test_processes_that_open_an_older_database_together_all_succeed(store_url: str, engine: Engine) -> None:
    rows: list[Row] = [
        {"request_id": f"r{number:03}", "profile_json": '{"session_timeout_sec": 9}', "updated_at": UPDATED_AT}
        for number in range(100)
    ]
    create_older(engine, OLDER, rows)
    spawn = multiprocessing.get_context("spawn")
    together = spawn.Barrier(3)
    processes = [spawn.Process(target=_migrate_in_a_process, args=(store_url, together)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        await asyncio.to_thread(process.join, 60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert [row["request_id"] for row in read(engine)] == [row["request_id"] for row in rows]


async def test_a_migration_that_fails_leaves_the_older_database_as_it_was(store_url: str, engine: Engine) -> None:
    """Here because somebody's own table is in the way; whatever the reason, nothing half-done stays."""
    rows: list[Row] = [
        {
            "request_id": "a",
            "profile_json": "{}",
            "effective_session_timeout_sec": 9,
            "session_handle_json": None,
            "wait_deadline_at": None,
            "process_binding_json": None,
            "updated_at": UPDATED_AT,
        }
    ]
    create_older(engine, OLDER, rows)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE {TABLE}_older (in_the_way INTEGER)"))
    before = schema(engine)
    with pytest.raises(Exception, match="already"):
        await migrate(store_url)
    assert schema(engine) == before
    assert read(engine) == rows
