"""Talking to a session's workflow: one update, and what can become of it."""

from datetime import timedelta
from typing import TypeVar

from temporalio.client import Client, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError

from turnwise.client.refusals import RPC_TIMEOUT, refused, says_that_there_is_none, unavailable
from turnwise.errors import SessionClosed, Unavailable
from turnwise.store import Store

T = TypeVar("T")


class SessionUpdates:
    def __init__(self, session_id: str, temporal: Client, store: Store) -> None:
        self._session_id = session_id
        self._handle = temporal.get_workflow_handle(session_id)
        self._store = store
        self._is_known = False

    async def send(
        self,
        name: str,
        *arguments: object,
        gives: type[T],
        update_id: str | None = None,
        patience: timedelta = RPC_TIMEOUT,
    ) -> T:
        """Raises the error that the session refused it with, SessionClosed, SessionNotFound or Unavailable."""
        if not self._is_known:  # nothing is sent to a workflow that is no session of ours
            await self._store.sessions.settings(self._session_id)
            self._is_known = True
        try:
            result: T = await self._handle.execute_update(
                name, args=arguments, result_type=gives, id=update_id, rpc_timeout=patience
            )
            return result
        except WorkflowUpdateFailedError as error:
            raise refused(error) or SessionClosed("The session was closed in the meantime.") from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            raise Unavailable("No worker took this.") from error
        except RPCError as error:
            if not says_that_there_is_none(error):
                raise unavailable(error) from error
            # Raises SessionNotFound when there is none. One whose workflow somebody ended from outside is closed.
            await self._store.sessions.close(self._session_id)
            raise SessionClosed("The session is closed.") from error
