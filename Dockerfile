# One image for every role: `turnwise api` by default, `turnwise worker` by command.

FROM python:3.12-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PATH=/opt/turnwise/bin:$PATH

WORKDIR /build
RUN python -m venv /opt/turnwise

# The dependencies come first: a change of the source alone does not install them again.
COPY requirements.lock ./
RUN pip install --require-hashes --requirement requirements.lock

COPY pyproject.toml README.md ./
COPY contracts/ contracts/
COPY src/ src/
RUN pip install --no-deps .


FROM python:3.12-slim

ENV PATH=/opt/turnwise/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    TURNWISE_DATA_DIR=/var/lib/turnwise

RUN useradd --system --uid 10001 --no-create-home turnwise \
    && install --directory --owner=turnwise "$TURNWISE_DATA_DIR"

COPY --from=build /opt/turnwise /opt/turnwise

# By number, so that an orchestrator can tell that it is not root without reading the image's user table.
USER 10001
WORKDIR /var/lib/turnwise
EXPOSE 8000

# urlopen raises on anything but success; the slim image has neither curl nor wget.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", \
    "import os, urllib.request as r; r.urlopen('http://127.0.0.1:%s/readyz' % os.getenv('TURNWISE_API_PORT', '8000'))"]

CMD ["turnwise", "api"]
