"""The API's description is a contract: it changes only on purpose (`make openapi`)."""

import json
from pathlib import Path
from typing import cast

from turnwise import contracts
from turnwise.api.app import create_app
from turnwise.api.services import Services
from turnwise.client import Turnwise

FILE = Path(__file__).parent.parent / "contracts" / "openapi.json"


def described() -> str:
    nobody = cast(Turnwise, None)  # describing needs no server
    app = create_app(Services(nobody, temporal_ui=None, namespace="default"), ["*"])
    return json.dumps(app.openapi(), indent=2, sort_keys=True) + "\n"


def test_the_api_is_what_its_contract_says() -> None:
    assert described() == contracts.read("openapi.json")


def test_every_error_of_every_route_is_a_problem() -> None:
    for path, methods in json.loads(contracts.read("openapi.json"))["paths"].items():
        for method, operation in methods.items():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"], (method, path, status)


if __name__ == "__main__":
    FILE.write_text(described())
