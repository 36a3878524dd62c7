"""Python functions as tools: their schemas, their results, and everything that can go wrong in them."""

import asyncio
import datetime
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, JsonValue

from turnwise.descriptors import ToolOutcome, ToolRequest, ToolSource
from turnwise.errors import ToolUnknown
from turnwise.fcmp.events import ToolStatus
from turnwise.tools import NativeTools, Tools, ToolServers
from turnwise.tools.builtin import builtin_tools


def tools_with(*functions: Callable[..., object], timeout_sec: float = 30) -> Tools:
    native = NativeTools()
    for function in functions:
        native.add(function)
    return Tools(native, ToolServers(), timeout_sec=timeout_sec)


async def called(function: Callable[..., object], /, **arguments: JsonValue) -> ToolOutcome:
    return await called_within(30, function, **arguments)


async def called_within(seconds: float, function: Callable[..., object], /, **arguments: JsonValue) -> ToolOutcome:
    tools = tools_with(function, timeout_sec=seconds)
    (binding,) = await tools.describe(ToolRequest(source=ToolSource.NATIVE, name=function.__name__))
    return await tools.call(binding, arguments)


def error(outcome: ToolOutcome) -> str:
    assert outcome.status is ToolStatus.FAILED
    assert isinstance(outcome.result, dict)
    return str(outcome.result["error"])


def add(a: int, b: Annotated[int, Field(description="What is added.", ge=0)] = 1) -> int:
    """Adds two numbers. At once.

    And it is always right.
    """
    return a + b


async def add_later(a: int, b: int = 1) -> int:
    await asyncio.sleep(0)
    return a + b


class Place(BaseModel):
    name: str
    at: datetime.date


@dataclass
class Found:
    place: Place
    distance: float


def find(place: Place) -> Found:
    return Found(place, float("inf"))


# What a tool is


async def test_a_function_is_described_by_its_hints_and_its_docstring() -> None:
    (binding,) = await tools_with(add).describe(ToolRequest(source=ToolSource.NATIVE, name="add"))
    tool = binding.descriptor
    assert (tool.name, tool.source, tool.enabled) == ("add", ToolSource.NATIVE, True)
    assert tool.description == "Adds two numbers. At once.\n\nAnd it is always right."
    assert tool.short_description == "Adds two numbers."
    assert tool.parameters["required"] == ["a"]
    assert tool.parameters["properties"] == {
        "a": {"title": "A", "type": "integer"},
        "b": {"default": 1, "description": "What is added.", "minimum": 0, "title": "B", "type": "integer"},
    }


async def test_the_decorator_gives_another_name_and_description_and_leaves_the_function_alone() -> None:
    tools = NativeTools()

    @tools.tool(name="math.double", description="Twice as much.")
    def double(number: int) -> int:
        return 2 * number

    assert double(4) == 8
    descriptor = tools.binding("math.double").descriptor
    assert (descriptor.name, descriptor.description) == ("math.double", "Twice as much.")


def yields() -> Iterator[int]:
    yield from itertools.count()


async def yields_later() -> AsyncIterator[int]:
    yield 1


def positional(a: int, /) -> int:
    return a


@pytest.mark.parametrize("function", [yields, yields_later, positional])
def test_a_function_that_cannot_be_a_tool_is_refused_when_it_is_added(function: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match=f"the tool '{function.__name__}' (yields|takes arguments without a name)"):
        NativeTools().add(function)


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, "\ud800"])
def test_a_name_that_could_not_be_shown_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be used") as refused:
        NativeTools().add(add, name=name)
    assert "\n" not in str(refused.value)


def test_two_tools_of_one_worker_have_two_names() -> None:
    tools, others = NativeTools(), NativeTools()
    tools.add(add)
    others.add(add)
    with pytest.raises(ValueError, match="already a tool 'add'"):
        tools.add(add)
    with pytest.raises(ValueError, match="already a tool 'add'"):
        tools.include(others)


async def test_a_tool_that_is_not_known_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(ToolUnknown, match=r"no native tool 'subtract'. Known here: add, find."):
        await tools_with(find, add).describe(ToolRequest(source=ToolSource.NATIVE, name="subtract"))


async def test_a_worker_that_does_not_know_a_registered_tool_says_so() -> None:
    (binding,) = await tools_with(add).describe(ToolRequest(source=ToolSource.NATIVE, name="add"))
    assert "no native tool 'add'" in error(await tools_with(find).call(binding, {"a": 1}))


# What it returns


@pytest.mark.parametrize("function", [add, add_later])
async def test_a_function_is_called_with_its_arguments(function: Callable[..., object]) -> None:
    assert await called(function, a=1, b=2) == ToolOutcome(status=ToolStatus.COMPLETED, result=3)
    assert (await called(function, a=1)).result == 2


async def test_arguments_and_results_may_be_models() -> None:
    place: JsonValue = {"name": "Rome", "at": "2026-11-18"}
    outcome = await called(find, place=place)
    assert outcome.result == {"place": place, "distance": None}


async def test_a_plain_function_that_returns_an_awaitable_is_awaited() -> None:
    def lazily() -> object:
        return add_later(1)

    assert (await called(lazily)).result == 2


@pytest.mark.parametrize(
    "value",
    [object(), 2**70, "\ud800", b"\xff", {"a": threading.Lock()}],
    ids=["object", "huge number", "half a character", "bytes", "nested"],
)
async def test_a_result_that_is_not_json_fails_the_call(value: object) -> None:
    def give() -> object:
        return value

    assert error(await called(give)).startswith("The result cannot be written as JSON")


async def test_a_result_that_contains_itself_or_is_nested_too_deeply_fails_the_call() -> None:
    def endless() -> object:
        found: list[object] = []
        found.append(found)
        return found

    def deep() -> object:
        found: list[object] = []
        for _ in range(150):
            found = [found]
        return found

    for function in (endless, deep):
        assert error(await called(function)).startswith("The result cannot be written as JSON")


async def test_a_result_that_is_too_large_fails_the_call() -> None:
    def much() -> str:
        return "x" * 300_000

    assert error(await called(much)) == "The result has 300002 bytes; at most 262144 are allowed."


# What goes wrong


@pytest.mark.parametrize("arguments", [{}, {"a": "1"}, {"a": 1, "c": 2}, {"a": 1, "b": -1}])
async def test_wrong_arguments_never_reach_the_function(arguments: dict[str, JsonValue]) -> None:
    async def add(a: int, b: Annotated[int, Field(ge=0)] = 1) -> int:
        raise AssertionError("it was called")

    assert "do not fit the tool's schema" in error(await called(add, **arguments))


async def test_what_only_the_hints_can_refuse_is_told_in_one_line() -> None:
    async def find_later(place: Place) -> Found:
        return find(place)

    for function in (find, find_later):
        refused = error(await called(function, place={"name": "Rome", "at": "someday"}))
        assert refused.startswith("place.at: ")
        assert "\n" not in refused


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (KeyError("colour"), "KeyError: 'colour'"),
        (ValueError(), "ValueError"),
        (ValueError("\ud800\0"), "ValueError: ?�"),
        (SystemExit(3), "SystemExit: 3"),
        (StopIteration(), "StopIteration"),
        (Speechless(), "Speechless"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_a_function_raises_is_the_error_of_the_call(raised: BaseException, told: str) -> None:
    def fail() -> None:
        raise raised

    async def fail_later() -> None:
        raise raised

    assert error(await called(fail)) == told
    failed_later = error(await called(fail_later))
    if isinstance(raised, asyncio.CancelledError):
        assert failed_later == "The tool 'fail_later' was canceled from within."
    elif not isinstance(raised, StopIteration):  # Python itself makes that a RuntimeError
        assert failed_later == told


async def test_a_long_error_is_clipped() -> None:
    def fail() -> None:
        raise ValueError("x" * 100_000)

    assert len(error(await called(fail))) == 2000


async def test_an_async_function_that_does_not_finish_is_stopped() -> None:
    stopped = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    assert error(await called_within(0.05, wait)) == "The tool 'wait' did not finish within 0.05 s."
    assert stopped.is_set()


async def test_a_thread_that_never_returns_holds_up_nobody() -> None:
    let_go = threading.Event()

    def hang() -> None:
        let_go.wait()

    hung = await asyncio.gather(*(called_within(0.05, hang) for _ in range(50)))
    assert {error(outcome) for outcome in hung} == {"The tool 'hang' did not finish within 0.05 s."}
    assert (await called(add, a=1)).result == 2
    threads = [thread for thread in threading.enumerate() if thread.name == "turnwise-tool"]
    assert len(threads) >= 50
    assert all(thread.daemon for thread in threads)  # they do not hold up the end of the process either
    let_go.set()
    for thread in threads:
        thread.join()


async def test_to_cancel_the_caller_stops_the_function() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    calling = asyncio.create_task(called(wait))
    await started.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert stopped.is_set()


# Those that are always there


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [("text.count", {"text": "Grüße 👩‍👩‍👧\nzwei"}, {"characters": 12, "words": 3, "lines": 2})],
)
async def test_the_builtin_tools_work(name: str, arguments: dict[str, JsonValue], result: JsonValue) -> None:
    tools = Tools(builtin_tools(), ToolServers())
    (binding,) = await tools.describe(ToolRequest(source=ToolSource.NATIVE, name=name))
    assert (await tools.call(binding, arguments)).result == result


async def test_the_clock_knows_time_zones_and_refuses_what_is_none() -> None:
    tools = Tools(builtin_tools(), ToolServers())
    (binding,) = await tools.describe(ToolRequest(source=ToolSource.NATIVE, name="clock.now"))
    now = await tools.call(binding, {"timezone": "Asia/Tokyo"})
    assert str(now.result).endswith("+09:00")
    assert str((await tools.call(binding, {})).result).endswith("+00:00")
    for wrong in ("Middle/Earth", "../../etc/passwd", ""):
        assert error(await tools.call(binding, {"timezone": wrong}))
