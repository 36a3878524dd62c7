"""What was given on the command line or in a file, read into what it stands for."""

import sys
from pathlib import Path

import orjson
from pydantic import JsonValue, ValidationError

from turnwise.cli.options import RunFlags
from turnwise.errors import EntriesInvalid, RunInputInvalid
from turnwise.fcmp.events import Mode
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runs import DEFAULT_SESSION_TIMEOUT_SEC, DEFAULT_STALL_AFTER_SEC, RunInput, RunSettings


def read_settings(given: RunFlags) -> RunSettings:
    timeout, stall_after = given["timeout"], given["stall_after"]
    try:
        return RunSettings(
            engine=given["engine"],
            engine_options=read_options(given["options"]) or {},
            mode=Mode(given["mode"]),
            interactive_require_user_reply=given["strict"],
            session_timeout_sec=DEFAULT_SESSION_TIMEOUT_SEC if timeout is None else timeout,
            max_attempts=given["max_attempts"],
            stall_after_sec=DEFAULT_STALL_AFTER_SEC if stall_after is None else stall_after,
        )
    except ValidationError as error:
        raise _invalid(error) from error


def read_run(settings: RunSettings, prompt: str, session_id: str | None) -> RunInput:
    try:
        return RunInput(**settings.model_dump(), prompt=prompt, session_id=session_id)
    except ValidationError as error:
        raise _invalid(error) from error


def read_options(text: str | None) -> JsonObject | None:
    if text is None:
        return None
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text()
        except (OSError, UnicodeError) as error:
            raise RunInputInvalid(f"--options: the file {text[1:]} cannot be read ({_reason(error)}).") from error
    try:
        options = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise RunInputInvalid(f"--options is not valid JSON: {error}.") from error
    if not isinstance(options, dict):
        raise RunInputInvalid("--options must be a JSON object.")
    return options


def read_entries(file: str) -> list[JsonObject]:
    """What `transcript --json` wrote, or the list of entries in it alone."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
        found: JsonValue = orjson.loads(text)
    except (OSError, UnicodeError) as error:
        raise EntriesInvalid(f"The file {file} cannot be read ({_reason(error)}).") from error
    except orjson.JSONDecodeError as error:
        raise EntriesInvalid(f"The file {file} is not valid JSON: {error}.") from error
    entries = found.get("entries") if isinstance(found, dict) else found
    if not isinstance(entries, list):
        raise EntriesInvalid(f"The file {file} holds no transcript: it has no list of entries.")
    objects = [each for each in entries if isinstance(each, dict)]
    if len(objects) < len(entries):
        raise EntriesInvalid(f"The file {file} holds no transcript: an entry is not an object.")
    return objects


def _invalid(error: ValidationError) -> RunInputInvalid:
    first = error.errors(include_url=False, include_context=False)[0]
    return RunInputInvalid(f"{first['loc'][0]}: {first['msg']}.")


def _reason(error: OSError | UnicodeError) -> str:
    return (error.strerror or "it cannot be opened") if isinstance(error, OSError) else "it is not text"
