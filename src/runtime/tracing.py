"""OpenTelemetry traces, by Temporal's own plugin, when the standard `OTEL_*` variables say where they go."""

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence

from temporalio.client import Plugin

from turnwise.errors import SetupError

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"
SERVICE_NAME = "turnwise"
LAST_SEND_SEC = 2.0


@contextlib.contextmanager
def traced() -> Iterator[Sequence[Plugin]]:
    """What a Temporal client has to be given. When the block ends, the last traces are sent."""
    if not _is_wanted():
        yield []
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME as NAME
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from temporalio.contrib.opentelemetry import OpenTelemetryPlugin, create_tracer_provider
    except ImportError as error:
        raise SetupError(
            f"{_set(ENDPOINTS)} asks for traces, but OpenTelemetry is not installed: pip install 'turnwise[otel]'."
        ) from error
    resource = Resource.create()
    if str(resource.attributes[NAME]).startswith("unknown_service"):  # the standard variables do not name it
        resource = resource.merge(Resource({NAME: SERVICE_NAME}))
    provider = create_tracer_provider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    try:
        yield [OpenTelemetryPlugin(add_temporal_spans=True)]
    finally:
        # A receiver that is away would be tried for ten seconds and more.
        sending = threading.Thread(target=provider.shutdown, daemon=True)
        sending.start()
        sending.join(LAST_SEND_SEC)


def _is_wanted() -> bool:
    if _set(ENDPOINTS) is None or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    if os.environ.get("OTEL_TRACES_EXPORTER", "otlp") != "otlp":
        return False
    protocol = _set(PROTOCOLS)
    if protocol is not None and os.environ[protocol] != SPOKEN:
        raise SetupError(f"{protocol} is '{os.environ[protocol]}'; Turnwise sends traces by {SPOKEN}.")
    return True


def _set(names: Sequence[str]) -> str | None:
    return next((name for name in names if os.environ.get(name)), None)
