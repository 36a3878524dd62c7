"""Ports that servers are about to listen on."""

import contextlib
import errno
import socket

from turnwise.errors import SetupError


def require_free_port(host: str, port: int, setting: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = error.strerror or str(error)
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                host_setting = f"{setting.removesuffix('PORT')}HOST"
                raise SetupError(
                    f"'{host}' is no address of this machine ({reason}); correct {host_setting}."
                ) from error
            raise SetupError(f"Port {port} on {host} cannot be used ({reason}); free it or set {setting}.") from error


def free_ports(count: int) -> list[int]:
    """All held until all are known, so that they differ."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
