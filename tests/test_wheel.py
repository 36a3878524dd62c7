"""What people install: a wheel that holds everything, and works where there are no sources."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.command_line import environment

CHECKOUT = Path(__file__).parent.parent
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")

USE_IT = """
import asyncio, sys
from turnwise import contracts
from turnwise.runtime.whole import whole
from turnwise.store import Store

async def migrate():
    store = Store(f"sqlite:///{sys.argv[1]}")
    await store.open()
    await store.close()

asyncio.run(migrate())
assert "transitions:" in contracts.read("statechart.yaml")
for name, module in sys.modules.items():
    if name.partition(".")[0] == "turnwise":
        print(module.__file__)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheel")


@pytest.fixture(scope="module")
def sources(folder: Path) -> Path:
    """A copy: building leaves files behind, and takes up what an earlier build has left."""
    for name in ("src", "contracts"):
        shutil.copytree(CHECKOUT / name, folder / "sources" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(CHECKOUT / name, folder / "sources")
    return folder / "sources"


@pytest.fixture(scope="module")
def expected(sources: Path) -> set[str]:
    """What the package consists of, before the build adds files of its own."""
    return _files(sources / "src", "turnwise") | _files(sources / "contracts", "turnwise/contracts")


@pytest.fixture(scope="module")
def wheel(sources: Path, expected: set[str], folder: Path) -> Path:
    build = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder / "built", sources)
    subprocess.run([*PIP, *build], check=True)
    return next((folder / "built").iterdir())


@pytest.fixture(scope="module")
def installed(wheel: Path, folder: Path) -> Path:
    target = folder / "installed"
    subprocess.run([*PIP, "install", "--no-deps", "--target", target, wheel], check=True)
    return target


def python(installed: Path, *arguments: str) -> str:
    """Without `site`, whose hook for the editable installation would lead to the checkout."""
    path = os.pathsep.join((str(installed), sysconfig.get_path("purelib")))
    command = [sys.executable, "-S", *arguments]
    env = environment(PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
    result = subprocess.run(command, cwd=installed.parent, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path, expected: set[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == expected
    assert {
        "turnwise/py.typed",
        "turnwise/contracts/statechart.yaml",
        "turnwise/contracts/fcmp.schema.json",
        "turnwise/api/page/static/index.html",
        "turnwise/store/migrations/env.py",
    } <= held


def test_what_a_wheel_installs_works_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    database = tmp_path / "turnwise.db"
    loaded = python(installed, "-c", USE_IT, str(database)).splitlines()
    assert len(loaded) > 100
    assert [file for file in loaded if not file.startswith(f"{installed}/turnwise/")] == []
    assert database.exists()


def test_the_command_that_a_wheel_installs_shows_its_help(installed: Path) -> None:
    said = python(installed, str(installed / "bin" / "turnwise"), "--help")
    assert "Usage: turnwise" in said
    for command in ("up", "worker", "api", "demo"):
        assert f" {command} " in said


def _files(folder: Path, package: str) -> set[str]:
    return {f"{package}/{file.relative_to(folder).as_posix()}" for file in folder.rglob("*") if file.is_file()}
