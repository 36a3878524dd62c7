"""Large values, stored once under their digest, so that Temporal's history carries a reference instead."""

import hashlib

from sqlalchemy import Connection, bindparam, select

from turnwise.errors import RunInputInvalid
from turnwise.store.tables import blobs
from turnwise.store.upserts import InsertMissing

_ADD = InsertMissing(blobs)
_LOAD = select(blobs.c.body).where(blobs.c.ref == bindparam("ref"))


def put_blob(connection: Connection, body: str) -> str:
    ref = "sha256:" + hashlib.sha256(body.encode()).hexdigest()
    _ADD(connection, {"ref": ref, "body": body})
    return ref


def load_blob(connection: Connection, ref: str) -> str:
    body: str | None = connection.execute(_LOAD, {"ref": ref}).scalar()
    if body is None:
        raise RunInputInvalid(f"Nothing is stored under '{ref}'.")
    return body
