"""What can be watched, and what a commit has brought for whoever watches it."""

from enum import StrEnum
from typing import NamedTuple, Self

from sqlalchemy import Connection

from turnwise.store.records import Glance

_NEWS = "turnwise.news"


class Subject(StrEnum):
    RUN = "run"
    SESSION = "session"


class Topic(NamedTuple):
    subject: Subject
    id: str

    @classmethod
    def parse(cls, text: str) -> Self:
        subject, _, id_ = text.partition(" ")
        return cls(Subject(subject), id_)

    def __str__(self) -> str:
        return f"{self.subject} {self.id}"


def run_topic(run_id: str) -> Topic:
    return Topic(Subject.RUN, run_id)


def session_topic(session_id: str) -> Topic:
    return Topic(Subject.SESSION, session_id)


News = dict[Topic, Glance | None]
"""None when only the existence of news is known: the watcher must look."""


def leave_news(connection: Connection, topic: Topic, news: Glance | None) -> None:
    """Where a transaction leaves what it will have published once it is committed; twice, and watchers must look."""
    left: News = connection.info.setdefault(_NEWS, {})
    left[topic] = None if topic in left else news


def take_news(connection: Connection) -> News:
    news: News = connection.info.pop(_NEWS, {})
    return news
