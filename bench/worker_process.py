"""A worker alone in a process: `python -m bench.worker_process bare|turnwise port data_dir`.

Prints `ready`, and then the id of each run that asks its question.
"""

import asyncio
import sys
from pathlib import Path

from bench import moments
from bench.child import say, until_told_to_end

# Each side imports what it needs and no more: what it imports is part of the memory that is measured.


async def _bare(port: int) -> None:
    from temporalio.client import Client

    from bench.bare import bare_worker

    async with bare_worker(await Client.connect(f"127.0.0.1:{port}")):
        say("ready")
        await until_told_to_end()


async def _turnwise(port: int, data_dir: Path) -> None:
    from bench.turnwise_runs import turnwise_side
    from turnwise.settings import Settings

    async with turnwise_side(Settings(temporal_port=port, data_dir=data_dir)) as side, side.worker():
        say("ready")
        await until_told_to_end()


async def main(side: str, port: int, data_dir: Path) -> None:
    moments.listen(say)
    await (_bare(port) if side == "bare" else _turnwise(port, data_dir))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
