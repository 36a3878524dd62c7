"""What the README says is shown by a test, is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMED = re.findall(r"`(tests/\w+\.py)::(test_\w+)`", (ROOT / "README.md").read_text())


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_readme_names_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text()


def test_the_readme_names_tests() -> None:
    assert NAMED
