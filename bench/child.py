"""A child process of the benchmark, which ends when its standard input does: also when its parent is killed."""

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

END_TIMEOUT_SEC = 30.0


@contextlib.asynccontextmanager
async def child(module: str, *arguments: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdin=PIPE, stdout=PIPE, limit=2**24
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_TIMEOUT_SEC)
        except TimeoutError:
            process.kill()
            await process.wait()


async def next_line(process: Process) -> str:
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise RuntimeError(f"a process of the benchmark ended early, with code {await process.wait()}")
    return line.decode().strip()


def say(line: str) -> None:
    """In one write: several threads may speak."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def until_told_to_end() -> None:
    await asyncio.to_thread(sys.stdin.read)
