"""Workflows that are under way survive a new version: every recorded path replays without a difference."""

import json

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from tests.golden import FOLDER
from tests.golden.conversations import CONVERSATIONS
from tests.golden.paths import PATHS
from tests.golden.recoveries import RECOVERIES
from turnwise.converter import data_converter
from turnwise.workflows import RecoveryWorkflow, RunWorkflow, SessionWorkflow

HISTORIES = {file.stem: file.read_text() for file in sorted(FOLDER.glob("*.json"))}


@pytest.fixture(scope="module")
def replayer() -> Replayer:
    return Replayer(
        workflows=[RunWorkflow, SessionWorkflow, RecoveryWorkflow],
        data_converter=data_converter,
    )


def read(text: str) -> WorkflowHistory:
    recorded = json.loads(text)
    return WorkflowHistory.from_json(recorded["workflow_id"], recorded["history"])


def test_every_path_has_a_recorded_history() -> None:
    assert {name.partition(".")[0] for name in HISTORIES} == {*PATHS, *CONVERSATIONS, *RECOVERIES}


@pytest.mark.parametrize("name", HISTORIES)
async def test_a_recorded_history_replays(replayer: Replayer, name: str) -> None:
    await replayer.replay_workflow(read(HISTORIES[name]))


async def test_a_history_that_the_code_would_not_write_is_noticed(replayer: Replayer) -> None:
    text = HISTORIES["asked_and_answered"]
    with pytest.raises(NondeterminismError):
        await replayer.replay_workflow(read(text.replace('"run_turn"', '"walk_the_dog"')))
