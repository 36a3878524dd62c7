"""Where the parts of Turnwise are, told without their secrets."""

from typing import TYPE_CHECKING

from turnwise.settings import Settings
from turnwise.store.database import parse_url

if TYPE_CHECKING:  # the whole API hangs on it
    from turnwise.runtime.processes import Parts


def api_url(settings: Settings) -> str:
    host = settings.api_host if settings.api_host not in {"0.0.0.0", "::"} else "127.0.0.1"  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.api_port}"


def temporal_address(parts: "Parts") -> str:
    client = parts.temporal
    namespace = f", namespace {client.namespace}" if client.namespace != "default" else ""
    whose = "" if parts.settings.external_temporal else " (embedded)"
    return f"{client.service_client.config.target_host}{namespace}{whose}"


def database_place(url: str) -> str:
    """Neither the user's password nor any parameter of the URL, which may be one too."""
    parsed = parse_url(url)
    if parsed.drivername == "sqlite":
        return f"SQLite, {parsed.database}"
    host = parsed.host or str(parsed.query.get("host", "localhost"))
    port = f":{parsed.port}" if parsed.port else ""
    return f"PostgreSQL, {parsed.database} on {host}{port}"
