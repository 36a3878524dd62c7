"""Every error becomes `application/problem+json` (RFC 9457) with a `code`, here and nowhere else."""

import http
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from turnwise import errors
from turnwise.errors import TurnwiseError

RETRY_AFTER_SEC = 2
MEDIA_TYPE = "application/problem+json"

STATUS: dict[type[TurnwiseError], int] = {
    errors.RunNotFound: 404,
    errors.RunIdTaken: 409,
    errors.NotWaiting: 409,
    errors.RunEnded: 409,
    errors.InteractionStale: 409,
    errors.AlreadyAnswered: 409,
    errors.IdempotencyKeyReused: 422,
    errors.RunInputInvalid: 422,
    errors.EngineUnknown: 422,
    errors.EngineOptionsInvalid: 422,
    errors.ResponseInvalid: 422,
    errors.ReplyMalformed: 422,
    errors.CursorInvalid: 422,
    errors.SessionNotFound: 404,
    errors.ToolNotFound: 404,
    errors.SessionIdTaken: 409,
    errors.SessionClosed: 409,
    errors.SessionBusy: 409,
    errors.PromptAlreadyRunning: 409,
    errors.PromptCanceled: 409,
    errors.QueueFull: 409,
    errors.PromptMalformed: 422,
    errors.InvalidForkEntryIndex: 422,
    errors.EntriesInvalid: 422,
    errors.ToolUnknown: 422,
    errors.ToolNameTaken: 409,
    errors.ToolLimitReached: 409,
    errors.ToolUnusable: 502,
    errors.ToolServerUnavailable: 502,
    errors.Unavailable: 503,
}

log = structlog.get_logger()


class Problem(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str


def problem(status: int, code: str, detail: str, **details: object) -> JSONResponse:
    body = Problem(title=http.HTTPStatus(status).phrase, status=status, detail=detail, code=code, **details)
    headers = {"Retry-After": str(RETRY_AFTER_SEC)} if status == 503 else None
    return JSONResponse(body.model_dump(mode="json"), status, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    @app.exception_handler(TurnwiseError)
    async def known(_: Request, error: TurnwiseError) -> JSONResponse:
        return problem(STATUS.get(type(error), 500), error.code, error.message, **error.details)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        found = [(".".join(str(part) for part in each["loc"]), str(each["msg"])) for each in error.errors()]
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return problem(400, "JSON_INVALID", "The body is not valid JSON.")
        detail = "; ".join(f"{where}: {message}" for where, message in found)
        fields = [{"field": where, "message": message} for where, message in found]
        return problem(422, "REQUEST_INVALID", detail, errors=fields)

    @app.exception_handler(HTTPException)
    async def routing(_: Request, error: HTTPException) -> JSONResponse:
        response = problem(error.status_code, _code(error.status_code), str(error.detail))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        log.error("api.unexpected_error", path=request.url.path, exc_info=error)
        return problem(500, TurnwiseError.code, "Something went wrong on our side; it is in the server's log.")


def _code(status: int) -> str:
    return "BODY_TOO_LARGE" if status == 413 else http.HTTPStatus(status).name


def responses(*statuses: int) -> dict[int | str, dict[str, object]]:
    """What a route's documentation says about its errors."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
    return {status: {"description": http.HTTPStatus(status).phrase, "content": content} for status in statuses}


def add_schema(openapi: dict[str, Any]) -> None:
    """The schema that the routes' errors refer to; FastAPI knows only the models that routes return."""
    openapi["components"]["schemas"][Problem.__name__] = Problem.model_json_schema()
