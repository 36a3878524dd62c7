"""What other processes announce through PostgreSQL's LISTEN and NOTIFY.

Imported only on PostgreSQL: its driver is megabytes that a process on SQLite does without.
"""

from collections.abc import AsyncGenerator

import psycopg
from sqlalchemy import URL

from turnwise.errors import Unavailable
from turnwise.store.database import POSTGRES_LIMITS


async def notifications(url: URL, channel: str) -> AsyncGenerator[str, None]:
    conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, **POSTGRES_LIMITS) as connection:
            await connection.execute(f"LISTEN {channel}")
            async for notification in connection.notifies():
                yield notification.payload
    except psycopg.Error as error:
        raise Unavailable(f"The database cannot be listened to now: {error}") from error
