"""The real parts that tests run on: one Temporal server, one PostgreSQL, and a worker."""

import contextlib
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.async_api import Browser
from temporalio.client import Client

from tests.browser import Visits, served, started_browser
from tests.command_line import environment
from tests.ports import free_port
from tests.postgres import postgres
from tests.world import World, start_world
from turnwise.connection import connect_temporal
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings
from turnwise.store import Store

HISTORY_LIMIT = 400
"""Where the test server suggests continue-as-new, so that a test reaches it in seconds."""


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """A short path: PostgreSQL's socket lies in it. Readable for the user that PostgreSQL runs as."""
    with tempfile.TemporaryDirectory(prefix="turnwise-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres_server(scratch: Path) -> Iterator[str]:
    with postgres(scratch / "postgres") as server:
        with psycopg.connect(server.url, autocommit=True) as admin:
            # Its files need not outlive a power cut: waiting for the disk is most of what making a database takes.
            admin.execute("ALTER SYSTEM SET fsync = off")
            admin.execute("SELECT pg_reload_conf()")
        yield server.url


@contextlib.contextmanager
def postgres_database(server: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield server.replace("/postgres?", f"/{name}?")
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A database of the test's own."""
    with postgres_database(postgres_server) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Both databases: what uses this runs twice."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'turnwise.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    store = Store(store_url)
    await store.open()
    yield store
    await store.close()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def shared_store_url(request: pytest.FixtureRequest, scratch: Path) -> Iterator[str]:
    """Both databases, each one for the whole session."""
    if request.param == "sqlite":
        yield f"sqlite:///{scratch / 'shared.db'}"
    else:
        with postgres_database(request.getfixturevalue("postgres_server")) as url:
            yield url


@pytest.fixture(scope="session")
async def shared_store(shared_store_url: str) -> AsyncIterator[Store]:
    """For tests that only look at runs of their own: making a database takes longer than they do."""
    store = Store(shared_store_url)
    await store.open()
    yield store
    await store.close()


@pytest.fixture(scope="session")
async def second_store(shared_store_url: str, shared_store: Store) -> AsyncIterator[Store]:
    """What another process would have: it shares nothing with the first but the database."""
    store = Store(shared_store_url)
    await store.open()
    yield store
    await store.close()


@pytest.fixture(scope="session")
async def temporal(scratch: Path) -> AsyncIterator[Client]:
    options = ServerOptions(
        port=free_port(),
        ui_port=free_port(),
        data_dir=scratch,
        dynamic_config=(f"limit.historyCount.suggestContinueAsNew={HISTORY_LIMIT}",),
    )
    async with embedded_temporal(options):
        yield await connect_temporal(Settings(temporal_port=options.port))


@pytest.fixture(scope="session")
async def world(temporal: Client, scratch: Path) -> AsyncIterator[World]:
    """On SQLite, with a worker, shared by all tests that only start runs of their own."""
    async with start_world(temporal, f"sqlite:///{scratch / 'world.db'}") as world:
        yield world


@pytest.fixture
async def fresh_world(temporal: Client, store_url: str) -> AsyncIterator[World]:
    """One per test, on each of the two databases."""
    async with start_world(temporal, store_url) as world:
        yield world


@pytest.fixture
def env(world: World, scratch: Path) -> dict[str, str]:
    """The environment of a command that works on the world of the tests."""
    return environment(
        TEMPORAL_ADDRESS=world.temporal.service_client.config.target_host,
        TURNWISE_DATABASE_URL=f"sqlite:///{scratch / 'world.db'}",
        TURNWISE_TASK_QUEUE=world.task_queue,
        TURNWISE_API_PORT=str(free_port()),
    )


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with started_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
async def site(world: World) -> AsyncIterator[str]:
    """The address of the page."""
    async with served(world, free_port()) as address:
        yield address


@pytest.fixture
async def visits(browser: Browser, site: str) -> AsyncIterator[Visits]:
    visits = Visits(browser, site)
    yield visits
    await visits.close()
