"""The HTTP API: a thin layer over the client."""
