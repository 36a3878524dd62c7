"""The layers of the design: a lower one never imports a higher one, and the pure ones touch nothing but values."""

import ast
import functools
from pathlib import Path

import pytest

import turnwise
from turnwise import contracts

SOURCE = Path(turnwise.__path__[0])
CONTRACTS = Path(contracts.__path__[0])

LAYERS = [
    "contracts",
    "errors",
    "statechart",
    "fcmp",
    "status",
    "runs",
    "descriptors",
    "sessions",
    "wording",
    "cancellation",
    "settings",
    "converter",
    "connection",
    "store",
    "engines",
    "tools",
    "activities",
    "workflows",
    "client",
    "metrics",
    "api",
    "adapters",
    "runtime",
    "cli",
]
"""From the lowest to the highest. A module of the package itself is a layer of its own name."""

PURE = ["statechart", "fcmp", "status"]
IO_MODULES = {
    "aiohttp",
    "alembic",
    "asyncio",
    "concurrent",
    "fastapi",
    "httpx",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "psycopg",
    "random",
    "requests",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "socket",
    "sqlalchemy",
    "sqlite3",
    "starlette",
    "structlog",
    "subprocess",
    "tempfile",
    "temporalio",
    "threading",
    "time",
    "urllib",
    "uuid",
    "uvicorn",
}
IMPURE_CALLS = {"now", "utcnow", "today", "open", "input", "print", "exec", "eval"}


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def files(layer: str) -> list[Path]:
    if layer == "contracts":
        return sorted(CONTRACTS.glob("**/*.py"))
    module = SOURCE / f"{layer}.py"
    return [module] if module.exists() else sorted((SOURCE / layer).glob("**/*.py"))


def imports(path: Path) -> set[str]:
    """The full name of every module that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert node.module is not None
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layers_imported(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("turnwise.")}


def present() -> set[str]:
    packages = {path.parent.relative_to(SOURCE).parts[0] for path in SOURCE.glob("*/**/*.py")}
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    return (packages | modules | {"contracts"}) - {"__pycache__"}


def test_every_part_of_the_package_has_its_place_in_the_order() -> None:
    assert present() - set(LAYERS) == set()
    assert len(set(LAYERS)) == len(LAYERS)


def test_the_check_sees_the_files_and_what_they_import() -> None:
    assert layers_imported(SOURCE / "fcmp" / "factories.py") == {"fcmp", "statechart"}
    assert {"statechart", "fcmp", "store", "activities"} <= layers_imported(SOURCE / "workflows" / "run.py")
    assert all(files(layer) for layer in present())


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer in present()])
def test_a_layer_imports_no_higher_one(layer: str) -> None:
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    found = {f"{path.name} imports {name}" for path in files(layer) for name in layers_imported(path) - allowed}
    assert found == set()


@pytest.mark.parametrize("layer", [layer for layer in PURE if layer in present()])
def test_a_pure_layer_imports_nothing_that_does_io(layer: str) -> None:
    found = {name for path in files(layer) for name in imports(path) if name.split(".")[0] in IO_MODULES}
    assert found == set()


@pytest.mark.parametrize("layer", [layer for layer in PURE if layer in present()])
def test_a_pure_layer_has_no_clock_and_opens_nothing(layer: str) -> None:
    found: set[str] = set()
    for path in files(layer):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in IMPURE_CALLS:
                    found.add(f"{path.name}:{node.lineno} calls {name}")
            assert not isinstance(node, ast.AsyncFunctionDef | ast.Await), f"{path.name} waits for something"
    assert found == set()


def test_store_and_engines_know_nothing_of_temporal() -> None:
    found = {name for layer in ("store", "engines") for path in files(layer) for name in imports(path)}
    assert not {name for name in found if name.startswith("temporalio")}
