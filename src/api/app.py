"""The application."""

from collections.abc import Sequence
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.routing import APIRoute

from turnwise.api import health, metrics, problems, runs, session_tools, sessions
from turnwise.api.limits import BodyLimit, HostCheck, OriginCheck
from turnwise.api.page import serving
from turnwise.api.services import Services
from turnwise.api.stopping import Stopping


def create_app(services: Services, allowed_hosts: Sequence[str]) -> FastAPI:
    app = FastAPI(
        title="Turnwise",
        version=version("turnwise"),
        summary="Durable agent runs and sessions on Temporal: start, prompt, watch, reply, fork, cancel.",
        generate_unique_id_function=_operation_id,
    )
    app.state.services = services
    app.include_router(runs.router)
    app.include_router(sessions.router)
    app.include_router(session_tools.router)
    app.include_router(health.router)
    app.include_router(metrics.router)
    serving.install(app)
    problems.install(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(OriginCheck)
    app.add_middleware(HostCheck, allowed_hosts=frozenset(allowed_hosts))
    app.add_middleware(Stopping)
    openapi = app.openapi()  # made once, kept by the application
    problems.add_schema(openapi)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name
