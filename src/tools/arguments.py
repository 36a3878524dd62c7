"""Whether a call's arguments fit the schema of its tool; one that does not fit never reaches the tool."""

from functools import lru_cache

import jsonschema_rs
import orjson
from pydantic import JsonValue

from turnwise.fcmp.jsonvalue import JsonObject, json_bytes
from turnwise.tools.outcomes import CallFailed

MAX_BACKTRACKS = 100_000


def check_arguments(parameters: JsonObject, arguments: JsonObject) -> None:
    """Raises CallFailed, saying what does not fit."""
    try:
        error = next(_compiled(json_bytes(parameters)).iter_errors(arguments), None)
    except ValueError as unusable:
        reason = str(unusable).splitlines()[0][:500]
        raise CallFailed(f"The tool's own schema is not usable, so it was not called: {reason}") from unusable
    if error is not None:
        where = "/".join(str(part) for part in error.instance_path)
        raise CallFailed(f"The arguments do not fit the tool's schema at '/{where}': {error.message[:500]}")


def _refuse_remote(uri: str) -> JsonValue:
    raise ValueError(f"a schema may not refer outside itself ({uri})")


@lru_cache(maxsize=256)
def _compiled(schema: bytes) -> jsonschema_rs.Validator:
    # Unlike our own questions, the schemas of servers are of any draft and use look-around (those made with Zod do):
    # so not the linear-time engine, but one that gives up instead of hanging.
    return jsonschema_rs.validator_for(
        orjson.loads(schema),
        retriever=_refuse_remote,
        pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS, size_limit=1_000_000),
    )
