"""For Prometheus."""

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from turnwise.api.dependencies import With
from turnwise.errors import Unavailable

router = APIRouter(tags=["health"])


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(with_: With) -> Response:
    """What this process measures of itself, and the runs in the store by state unless the store is away."""
    try:
        runs = await with_.turnwise.count_runs()
    except Unavailable:
        runs = None
    return Response(with_.metrics.show(runs), media_type=with_.metrics.media_type)
