"""What the routes work with."""

from dataclasses import dataclass, field
from urllib.parse import quote

from turnwise.client import Turnwise
from turnwise.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Services:
    turnwise: Turnwise
    temporal_ui: str | None
    namespace: str
    metrics: Metrics = field(default_factory=Metrics)

    def ui_url(self, run_id: str) -> str | None:
        if self.temporal_ui is None:
            return None
        return f"{self.temporal_ui}/namespaces/{quote(self.namespace, safe='')}/workflows/{quote(run_id, safe='')}"
