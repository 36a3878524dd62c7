"""For load balancers and orchestrators."""

from fastapi import APIRouter

from turnwise.api.dependencies import With
from turnwise.api.models import Health
from turnwise.api.problems import responses

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def alive() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", responses=responses(503))
async def ready(with_: With) -> Health:
    """Temporal and the database answer."""
    await with_.turnwise.ping()
    return Health(status="ok")
