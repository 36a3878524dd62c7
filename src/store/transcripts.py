"""Transcripts. A fork shares the entries that it begins with: it costs the same however long they are.

Entries are written to a branch and never changed. A session reads the branches of its lineage, each up to a length,
and then its own.
"""

from collections.abc import Iterator
from typing import Self

import orjson
from sqlalchemy import Connection, RowMapping, bindparam, insert, select

from turnwise.errors import InvalidForkEntryIndex
from turnwise.sessions import (
    Counts,
    Entry,
    ForkableMessage,
    IndexedEntry,
    MessageEntry,
    Segment,
    ToolCallEntry,
    ToolOutputEntry,
    parse_entry,
)
from turnwise.store.tables import entries

MAX_CALLS_AT_ONCE = 200
"""So far from the end a call without an output is looked for, in entries."""
A_FEW = 5
"""Entries that are read at once from the end; what was said last is seldom a call of a tool."""

_ADD = insert(entries)
_READ = (
    select(entries.c.entry_index, entries.c.body)
    .where(
        entries.c.branch == bindparam("of"),
        entries.c.entry_index >= bindparam("first"),
        entries.c.entry_index < bindparam("end"),
    )
    .order_by(entries.c.entry_index)
)
_READ_PROMPTS = _READ.where(entries.c.is_prompt.is_(True))
_ONE = select(entries.c.is_prompt, entries.c.counts).where(
    entries.c.branch == bindparam("of"), entries.c.entry_index == bindparam("at")
)


class Branch:
    """The end of a session's transcript, where it grows."""

    def __init__(self, name: str, length: int, counts: Counts) -> None:
        self.name = name
        self.length = length
        self.counts = counts
        self._new: list[dict[str, object]] = []

    @classmethod
    def of(cls, session: RowMapping) -> Self:
        return cls(session["branch"], session["entry_count"], Counts.model_validate_json(session["counts"]))

    def add(self, entry: Entry, *, is_prompt: bool) -> None:
        self.counts = self.counts.after(entry)
        self._new.append(
            {
                "branch": self.name,
                "entry_index": self.length,
                "is_prompt": is_prompt,
                "body": entry.model_dump_json(),
                "counts": self.counts.model_dump_json(),
            }
        )
        self.length += 1

    def save(self, connection: Connection) -> None:
        if self._new:
            connection.execute(_ADD, self._new)
            self._new = []


def lineage(session: RowMapping) -> list[Segment]:
    """All branches that a session's transcript consists of, its own the last."""
    shared = [Segment.model_validate(each) for each in orjson.loads(session["lineage"])]
    own = Segment(branch=session["branch"], length=session["entry_count"])
    return [*shared, own] if own.length > (shared[-1].length if shared else 0) else shared


def read_entries(connection: Connection, session: RowMapping, first: int, limit: int) -> list[IndexedEntry]:
    found: list[IndexedEntry] = []
    for branch, start, end in _slices(lineage(session), first, first + limit):
        rows = connection.execute(_READ, {"of": branch, "first": start, "end": end})
        found += [IndexedEntry(entry_index=row.entry_index, entry=parse_entry(row.body)) for row in rows]
    return found


def forkable_messages(connection: Connection, session: RowMapping) -> list[ForkableMessage]:
    found: list[ForkableMessage] = []
    for branch, start, end in _slices(lineage(session), 0, session["entry_count"]):
        for row in connection.execute(_READ_PROMPTS, {"of": branch, "first": start, "end": end}):
            entry = parse_entry(row.body)
            assert isinstance(entry, MessageEntry)
            found.append(ForkableMessage(entry_index=row.entry_index, text=entry.text))
    return found


def forked_lineage(connection: Connection, session: RowMapping, at: int | None) -> list[Segment]:
    """What a fork begins with: everything so far, or what was said before the user's prompt at an entry."""
    segments = lineage(session)
    if at is None:
        return _up_to(segments, _last_complete(connection, session))
    place = next(_slices(segments, at, at + 1), None) if at >= 0 else None
    row = connection.execute(_ONE, {"of": place[0], "at": at}).one_or_none() if place else None
    if row is None or not row.is_prompt:
        raise InvalidForkEntryIndex(at)
    return _up_to(segments, at)


def _up_to(segments: list[Segment], end: int) -> list[Segment]:
    return [Segment(branch=branch, length=stop) for branch, _, stop in _slices(segments, 0, end)]


def _last_complete(connection: Connection, session: RowMapping) -> int:
    """Where the transcript ends without the calls at its end that have no output yet: tools are at work just now."""
    complete: int = session["entry_count"]
    answered: set[str] = set()
    for indexed in _backwards(connection, session):
        match indexed.entry:
            case ToolOutputEntry(call_id=call_id):
                answered.add(call_id)
            case ToolCallEntry(call_id=call_id):
                complete = complete if call_id in answered else indexed.entry_index
            case _:
                break
    return complete


def _backwards(connection: Connection, session: RowMapping) -> Iterator[IndexedEntry]:
    end: int = session["entry_count"]
    first = max(0, end - MAX_CALLS_AT_ONCE)
    while end > first:
        start = max(first, end - A_FEW)
        yield from reversed(read_entries(connection, session, start, end - start))
        end = start


def counts_at_end(connection: Connection, segments: list[Segment]) -> Counts:
    if not segments:
        return Counts()
    row = connection.execute(_ONE, {"of": segments[-1].branch, "at": segments[-1].length - 1}).one()
    return Counts.model_validate_json(row.counts)


def _slices(segments: list[Segment], first: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The pieces of the branches that lie between two places of the whole transcript."""
    before = 0
    for segment in segments:
        start, stop = max(first, before), min(end, segment.length)
        if start < stop:
            yield segment.branch, start, stop
        before = segment.length
