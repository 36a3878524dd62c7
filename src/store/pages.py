"""Cursors of lists that are read newest first, page by page."""

import base64
import binascii

import orjson

from turnwise.errors import CursorInvalid


def encode_cursor(created_at: str, key: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([created_at, key])).decode()


def decode_cursor(cursor: str) -> tuple[str, str]:
    try:
        created_at, key = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, UnicodeError, ValueError, TypeError) as error:
        raise CursorInvalid("This is not a cursor that a list has given.") from error
    if not (isinstance(created_at, str) and isinstance(key, str)) or "\0" in created_at + key:
        raise CursorInvalid("This is not a cursor that a list has given.")
    return created_at, key
