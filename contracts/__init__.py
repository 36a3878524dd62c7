"""The contracts that Turnwise is proven against, readable as package data."""

from importlib.resources import files


def read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
