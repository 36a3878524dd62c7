"""The gate in front of the log: nothing is written that the contract does not allow."""

import jsonschema_rs
import orjson

from turnwise import contracts
from turnwise.errors import ProtocolSchemaViolation
from turnwise.fcmp.jsonvalue import JsonObject

_VALIDATOR = jsonschema_rs.Draft202012Validator(orjson.loads(contracts.read("fcmp.schema.json")))


def validate(event: JsonObject) -> None:
    """Raises ProtocolSchemaViolation unless `event` is a valid FCMP record."""
    if _VALIDATOR.is_valid(event):
        return
    error = next(_VALIDATOR.iter_errors(event))
    where = "/".join(str(part) for part in error.instance_path)
    raise ProtocolSchemaViolation(f"{event.get('type')} does not fit the contract at '/{where}': {error.message[:500]}")
