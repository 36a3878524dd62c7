"""How refusals and outages come back from Temporal, as errors with a name."""

from datetime import timedelta

from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from turnwise import errors
from turnwise.errors import TurnwiseError, Unavailable

RPC_TIMEOUT = timedelta(seconds=5)

_NAMED: dict[str, type[TurnwiseError]] = {
    kind.code: kind
    for kind in (
        errors.AlreadyAnswered,
        errors.EntriesInvalid,
        errors.InteractionStale,
        errors.NotWaiting,
        errors.PromptAlreadyRunning,
        errors.PromptMalformed,
        errors.QueueFull,
        errors.ReplyMalformed,
        errors.ResponseInvalid,
        errors.RunInputInvalid,
        errors.SessionBusy,
        errors.SessionClosed,
        errors.SessionNotFound,
        errors.ToolLimitReached,
        errors.ToolNameTaken,
        errors.ToolServerUnavailable,
        errors.ToolUnknown,
        errors.ToolUnusable,
    )
}


def refused(error: WorkflowUpdateFailedError) -> TurnwiseError | None:
    """The named error that a workflow refused an update with; None when the workflow ended in the middle of it."""
    cause: BaseException | None = error.cause
    while cause is not None and not isinstance(cause, ApplicationError):
        cause = cause.__cause__
    if cause is None or cause.type not in _NAMED:
        return None
    details = cause.details[0] if cause.details else {}
    return _NAMED[cause.type](cause.message, **details)


def says_that_there_is_none(error: RPCError) -> bool:
    """No such workflow, or none that runs; not that there is no such namespace."""
    return error.status is RPCStatusCode.NOT_FOUND and _missing_namespace(error) is None


def unavailable(error: RPCError) -> Unavailable:
    namespace = _missing_namespace(error)
    if namespace is not None:
        return Unavailable(
            f"The Temporal server has no namespace '{namespace}': make it, or correct TEMPORAL_NAMESPACE."
        )
    return Unavailable(f"The Temporal server cannot be used now ({error.status.name.lower()}).")


def _missing_namespace(error: RPCError) -> str | None:
    failure = NamespaceNotFoundFailure()
    details = error.grpc_status.details
    return failure.namespace if details and details[0].Unpack(failure) else None
