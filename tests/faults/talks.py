"""A session in the load: prompts that queue up, questions that are answered, and a close at the end."""

import asyncio
import contextlib
from collections import Counter
from random import Random
from typing import Any

import httpx
from temporalio.client import Client, WorkflowExecutionStatus

from tests.faults.users import Caller
from tests.faults.watchers import Over, SessionWatcher
from tests.world import ANSWER, ASK, until
from turnwise.errors import SESSION_CLOSED
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.sessions import ItemStatus, SessionState

PROMPTS = 5
ANSWERS: JsonObject = {"turns": [[{"say": "Well."}, {"final": "Done."}]]}
ASKS: JsonObject = {"turns": [[ASK], [ANSWER]]}


class Talk(Caller):
    def __init__(self, http: httpx.AsyncClient, name: str, random: Random) -> None:
        super().__init__(http, name, random)
        self.path = ""
        self.watcher: SessionWatcher | None = None
        self.accepted: list[str] = []
        """Prompts that the session has taken; each is its own id."""

    async def play(self) -> None:
        created = await self.send("/v1/sessions", {"engine_options": ANSWERS}, {"Idempotency-Key": self.name})
        self.path = f"/v1/sessions/{created.json()['session_id']}"
        self.watcher = SessionWatcher(self._http, f"{self.path}/stream", self.random)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.watcher.follow())
            tasks.create_task(self._answer(self.watcher))
            for number in range(PROMPTS):
                await self._prompt(f"prompt {number}")
                await asyncio.sleep(self.random.uniform(0, 2))
            await self._until_idle()
            closed = await self.send(f"{self.path}/close", {})
            # The first answer may have been lost, with the session closed.
            if closed.status_code != 200 and closed.json()["code"] != SESSION_CLOSED:
                self.complaints.append(f"the close was refused: {closed.text}")

    async def _prompt(self, text: str) -> None:
        body: JsonObject = {"text": text, "prompt_id": text, "streaming_behavior": "follow_up"}
        if self.random.random() < 0.4:
            body["engine_options"] = ASKS
        answer = await self.send(f"{self.path}/prompt", body)
        if answer.status_code == 202:
            self.accepted.append(text)
        else:
            self.complaints.append(f"a prompt was refused: {answer.text}")

    async def _answer(self, watcher: SessionWatcher) -> None:
        """Each question, once it is asked."""
        answered: set[str] = set()

        def is_new(event: FcmpEvent) -> bool:
            return event.type is EventType.INPUT_REQUIRED and event.run_id not in answered

        with contextlib.suppress(Over):
            while True:
                asked = await watcher.until(is_new)
                answered.add(asked.run_id)
                reply: JsonObject = {"interaction_id": 1, "response": "blue", "reply_id": asked.run_id}
                answer = await self.send(f"/v1/runs/{asked.run_id}/interaction/reply", reply)
                if answer.status_code != 200:
                    self.complaints.append(f"a reply was refused: {answer.text}")

    async def _until_idle(self) -> None:
        await until(self.look, lambda seen: seen and not seen["active_run_id"] and not seen["pending_messages"])

    async def look(self, part: str = "") -> Any:
        with contextlib.suppress(httpx.TransportError):
            answer = await self._http.get(f"{self.path}{part}")
            if answer.status_code == 200:
                return answer.json()
        return None

    async def judge(self, temporal: Client) -> list[str]:
        """Everything that is wrong with this session, in words."""
        if self.watcher is None:
            return [*self.complaints, "the session was never created"]
        view, seen = await self.look(), self.watcher.seen
        wrong = [*self.complaints, *self.watcher.complaints]
        for run_id in {event.run_id for event in seen}:
            wrong += violations([event for event in seen if event.run_id == run_id])
        if (view["state"], view["last_seq"]) != (SessionState.CLOSED, len(seen)):
            wrong.append(f"it is {view['state']} with {view['last_seq']} events, its watcher saw {len(seen)}")
        status = (await temporal.get_workflow_handle(view["session_id"]).describe()).status
        if status is not WorkflowExecutionStatus.COMPLETED:
            wrong.append(f"Temporal says {status}")
        return wrong + self._prompts(
            await self.look("/forkable-messages"), await self.look("/pending?include_resolved=1")
        )

    def _prompts(self, messages: Any, pending: Any) -> list[str]:
        """Whatever was accepted was executed once, or failed in the queue behind a prompt that failed."""
        executed = Counter(message["text"] for message in messages["messages"])
        dropped = {
            item["prompt_id"]
            for item in pending["items"]
            if item["status"] == ItemStatus.FAILED and item["prompt_id"] not in executed
        }
        return [
            f"'{prompt}' was accepted and is {executed[prompt]} times in the transcript"
            for prompt in self.accepted
            if executed[prompt] != (0 if prompt in dropped else 1)
        ]
