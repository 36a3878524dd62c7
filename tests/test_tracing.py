"""OpenTelemetry traces, as a real receiver of OTLP over HTTP gets them."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from tests.ports import free_port
from tests.test_up import run_to_its_end, service, settings
from turnwise.errors import SetupError
from turnwise.runtime.tracing import traced


class Receiver(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[ResourceSpans] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> list[Span]:
        return [span for each in self.received for scope in each.scope_spans for span in scope.spans]

    def services(self) -> set[str]:
        return {
            attribute.value.string_value
            for each in self.received
            for attribute in each.resource.attributes
            if attribute.key == "service.name"
        }


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        assert isinstance(self.server, Receiver)
        assert self.path == "/v1/traces"
        self.server.received += ExportTraceServiceRequest.FromString(body).resource_spans
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.end_headers()
        self.wfile.write(ExportTraceServiceResponse().SerializeToString())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_a_run_is_one_trace_from_its_start_through_its_turns(tmp_path: Path, receiver: Receiver) -> None:
    env = {**settings(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
    async with service("up", env=env) as up:
        await up.until("Ctrl-C stops")
        await run_to_its_end(up.api)
        assert await up.stop(signal.SIGTERM) == 0
    assert "Traceback" not in up.said
    (start,) = [span for span in receiver.spans() if span.name == "StartWorkflow:RunWorkflow"]
    trace = [span.name for span in receiver.spans() if span.trace_id == start.trace_id]
    assert {"RunWorkflow:RunWorkflow", "StartActivity:run_turn", "RunActivity:run_turn"} <= set(trace)
    assert trace.count("RunActivity:run_turn") == 2
    assert receiver.services() == {"turnwise"}


async def test_a_receiver_that_is_away_holds_nothing_up(tmp_path: Path) -> None:
    env = {**settings(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    env["OTEL_SERVICE_NAME"] = "mine"
    async with service("up", env=env) as up:
        await up.until("Ctrl-C stops")
        await run_to_its_end(up.api)
        assert await up.stop(signal.SIGTERM) == 0


def test_without_its_variables_there_is_no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with traced() as plugins:
        assert plugins == []


@pytest.mark.parametrize(
    "switch", [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")], ids=lambda pair: pair[0]
)
def test_it_is_switched_off_as_everywhere(monkeypatch: pytest.MonkeyPatch, switch: tuple[str, str]) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv(*switch)
    with traced() as plugins:
        assert plugins == []


def test_what_is_missing_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(SetupError, match=r"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT .*turnwise\[otel\]"), traced():
        pass


def test_a_protocol_that_is_not_spoken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with (
        pytest.raises(SetupError, match="'grpc'; Turnwise sends traces by http/protobuf"),
        contextlib.ExitStack() as stack,
    ):
        stack.enter_context(traced())
