"""Connecting to Temporal, wherever it is."""

from temporalio.client import Client
from temporalio.envconfig import ClientConfig

from turnwise.converter import data_converter
from turnwise.errors import SetupError
from turnwise.settings import Settings


async def connect_temporal(settings: Settings) -> Client:
    """To `TEMPORAL_ADDRESS` (or a profile) when set, else to the embedded server's port on this machine."""
    try:
        config = ClientConfig.load_client_connect_config()
    except (RuntimeError, ValueError, OSError) as error:
        raise SetupError(f"Temporal's client configuration cannot be used: {error}") from error
    if not settings.external_temporal:
        config["target_host"] = f"127.0.0.1:{settings.temporal_port}"
    target = config.get("target_host", "")
    try:
        return await Client.connect(**config, data_converter=data_converter)
    except (RuntimeError, ValueError) as error:
        hint = "check TEMPORAL_ADDRESS" if settings.external_temporal else "is `turnwise up` running?"
        raise SetupError(f"No Temporal server answers at {target} ({hint}).") from error
