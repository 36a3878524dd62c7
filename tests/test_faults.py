"""A short round of the fault suite; `make faults` runs longer ones, with other seeds."""

from pathlib import Path

import pytest

from tests.faults.stage import DatabaseKind
from tests.faults.suite import Plan, play

SEED = 1
SECONDS = 12.0


@pytest.mark.timeout(300)
async def test_nothing_is_lost_while_everything_is_killed_stopped_and_paused(scratch: Path) -> None:
    folder = scratch / "faults"
    folder.mkdir()
    report = await play(Plan(SEED, SECONDS, DatabaseKind.POSTGRESQL), folder)
    assert report.lost == [], str(report)
    assert report.faults.total() > 0
