"""The processes that serve until they are stopped."""

from enum import StrEnum


class Service(StrEnum):
    """By how each is spoken of."""

    UP = "Turnwise"
    WORKER = "The worker"
    API = "The API"
