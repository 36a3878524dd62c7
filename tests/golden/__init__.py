"""Golden histories: one of each path through the workflows, recorded on a real server, replayed in the tests."""

from pathlib import Path

FOLDER = Path(__file__).parent
