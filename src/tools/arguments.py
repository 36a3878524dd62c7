"""Whether a call's arguments fit the schema of its tool; one that does not fit never reaches the tool."""

from functools import lru_cache

import jsonschema_rs
import orjson

from turnwise.fcmp.jsonvalue import JsonObject, json_bytes
from turnwise.fcmp.schemas import fault_of, refuse_remote
from turnwise.tools.outcomes import CallFailed

MAX_BACKTRACKS = 100_000


def check_arguments(parameters: JsonObject, arguments: JsonObject) -> None:
    """Raises CallFailed, saying what does not fit."""
    try:
        found = fault_of(_compiled(json_bytes(parameters)), arguments)
    except ValueError as unusable:
        reason = str(unusable).splitlines()[0][:500]
        raise CallFailed(f"The tool's own schema is not usable, so it was not called: {reason}") from unusable
    if found is not None:
        where, why = found
        raise CallFailed(f"The arguments do not fit the tool's schema at '/{where}': {why[:500]}")


@lru_cache(maxsize=256)
def _compiled(schema: bytes) -> jsonschema_rs.Validator:
    # Unlike our own questions, the schemas of servers are of any draft and use look-around (those made with Zod do):
    # so not the linear-time engine, but one that gives up instead of hanging.
    return jsonschema_rs.validator_for(
        orjson.loads(schema),
        retriever=refuse_remote,
        pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS, size_limit=1_000_000),
    )
