"""Connecting to Temporal, wherever it is."""

import asyncio
from collections.abc import Sequence

from temporalio.client import Client, Plugin
from temporalio.envconfig import ClientConfig, ClientConnectConfig

from turnwise.converter import data_converter
from turnwise.errors import SetupError
from turnwise.settings import Settings

CONNECT_TIMEOUT_SEC = 20.0


async def connect_temporal(settings: Settings, plugins: Sequence[Plugin] = ()) -> Client:
    """To `TEMPORAL_ADDRESS` (or a profile) when set, else to the embedded server's port on this machine."""
    config = ClientConnectConfig(target_host=f"127.0.0.1:{settings.temporal_port}")
    if settings.external_temporal:
        try:
            config = ClientConfig.load_client_connect_config()
        except (RuntimeError, ValueError, OSError) as error:
            raise SetupError(f"Temporal's client configuration cannot be used: {error}") from error
    target = config.get("target_host", "")
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_SEC):
            return await Client.connect(**config, data_converter=data_converter, plugins=plugins)
    except (RuntimeError, ValueError, TimeoutError) as error:
        hint = "check TEMPORAL_ADDRESS" if settings.external_temporal else "is `turnwise up` running?"
        raise SetupError(f"No Temporal server answers at {target} ({hint}).") from error
