"""Turnwise: durable agent sessions on Temporal."""
