"""The file that names a worker's MCP servers: what it may say, its faults in one sentence, and its secrets."""

from pathlib import Path

import pytest

from tests.mcp_process import config_file
from turnwise.errors import SetupError
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools.config import HttpServer, StdioServer, read_config


def test_servers_are_processes_or_addresses_and_take_values_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLDER", "/srv/files")
    monkeypatch.setenv("TOKEN", "tk-123456\n")
    files: JsonObject = {"command": "files", "args": ["--root", "${FOLDER}/shared"], "env": {"MODE": "read"}}
    wiki: JsonObject = {
        "url": "https://wiki.invalid/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    }
    servers = read_config(config_file(tmp_path, files=files, wiki=wiki)).servers
    assert servers["files"] == StdioServer(command="files", args=["--root", "/srv/files/shared"], env={"MODE": "read"})
    assert servers["wiki"] == HttpServer(url="https://wiki.invalid/mcp", headers={"Authorization": "Bearer tk-123456"})


@pytest.mark.parametrize(
    ("server", "fault"),
    [
        ({}, "mcpServers.it.stdio.command: Field required"),
        ({"command": ""}, "mcpServers.it.stdio.command: String should have at least 1 character"),
        ({"command": "x", "cmd": "s3cr3t-value"}, "mcpServers.it.stdio.cmd: Extra inputs are not permitted"),
        ({"command": "x", "args": "s3cr3t-value"}, "mcpServers.it.stdio.args: Input should be a valid list"),
        ({"command": "x", "env": {"KEY": 5}}, "mcpServers.it.stdio.env.KEY: Input should be a valid string"),
        ({"command": "x", "url": "http://a"}, "mcpServers.it.http.command: Extra inputs are not permitted"),
        ({"url": "http://a", "type": "sse"}, "mcpServers.it.http.type: Input should be 'http' or 'streamable-http'"),
        ({"url": "ftp://s3cr3t-value"}, "mcpServers.it.http.url: Value error, an address begins with http"),
        ({"url": "http://"}, "mcpServers.it.http.url: Value error, an address begins with http"),
        ({"url": "http://[s3cr3t-value"}, "mcpServers.it.http.url: Value error, Invalid IPv6 URL"),
        ({"url": "http://a:99999/"}, "mcpServers.it.http.url: Value error, Port out of range"),
        ({"url": "http://a/ s3cr3t-value"}, "mcpServers.it.http.url: String should match pattern"),
        ({"url": "http://a", "headers": {"A": "s3cr3t\nvalue"}}, "mcpServers.it.http.headers.A: String should match"),
        ({"url": "http://a", "headers": {"A:": "x"}}, "mcpServers.it.http.headers.A:.[key]: String should match"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_place_and_without_its_value(tmp_path: Path, server: JsonObject, fault: str) -> None:
    path = config_file(tmp_path, it=server)
    with pytest.raises(SetupError) as refused:
        read_config(path)
    assert refused.value.message.startswith(f"The file {path} (TURNWISE_MCP_CONFIG) has a fault: {fault}")
    assert "s3cr3t" not in refused.value.message
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "is not JSON: unexpected end of data: line 1 column 2 (char 1)."),
        ("", "is not JSON: "),
        ("[]", "has a fault: Input should be a valid dictionary"),
        ("{}", "has a fault: mcpServers: Field required."),
        ('{"mcpServers": {"a\\nb": {"command": "x"}}}', "has a fault: mcpServers."),
        ('{"mcpServers": {"it": {"command": "${NOT_SET_HERE}"}}}', "uses ${NOT_SET_HERE}, which is not set in the env"),
    ],
)
def test_a_file_that_cannot_be_understood_is_told_in_one_sentence(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(content)
    with pytest.raises(SetupError) as refused:
        read_config(path)
    assert refused.value.message.startswith(f"The file {path} (TURNWISE_MCP_CONFIG) {fault}")
    assert "\n" not in refused.value.message


def test_a_file_that_cannot_be_read_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"nowhere.json \(TURNWISE_MCP_CONFIG\) cannot be read: No such file or dir"):
        read_config(tmp_path / "nowhere.json")
    with pytest.raises(SetupError, match=r"cannot be read: Is a directory."):
        read_config(tmp_path)


def test_nothing_of_a_server_is_shown_when_it_is_printed(tmp_path: Path) -> None:
    stdio: JsonObject = {"command": "x", "args": ["s3cr3t-arg"], "env": {"KEY": "s3cr3t-env"}}
    http: JsonObject = {"url": "http://user:s3cr3t-password@a/s3cr3t-path", "headers": {"X-Key": "s3cr3t-header"}}
    config = read_config(config_file(tmp_path, stdio=stdio, http=http))
    for printed in (config, config.servers, *config.servers.values()):
        assert "s3cr3t" not in repr(printed) + str(printed)


@pytest.mark.parametrize(
    ("server", "text"),
    [
        ({"command": "x", "env": {"KEY": "s3cr3t-env"}}, "KEY=s3cr3t-env"),
        ({"command": "x", "args": ["--token=${SECRET}"]}, "unknown option --token=s3cr3t-variable"),
        ({"url": "http://a", "headers": {"Authorization": "Bearer s3cr3t"}}, "no access for Bearer s3cr3t"),
        ({"url": "http://a", "headers": {"Authorization": "Bearer abcdefs3cr3t"}}, "no access for abcdefs3cr3t"),
        ({"url": "http://a", "headers": {"Authorization": "Bearer secretletters"}}, "no access for secretletters"),
        ({"url": "http://a", "headers": {"Cookie": "a=s3cr3t-1; b=s3cr3t-2"}}, "not a=s3cr3t-1; nor b=s3cr3t-2"),
        ({"url": "http://a/v1?key=s3cr3t-key&x=1"}, "Redirect to http://a/v1?key=s3cr3t-key&x=1 not followed"),
        ({"url": "http://a/v1?key=s3cr3t-key&x=1"}, "bad key s3cr3t-key"),
        ({"url": "http://a/v1?key=s3cr3t%2Fkey"}, "bad key s3cr3t/key, key=s3cr3t%2Fkey"),
        ({"url": "http://a/s/s3cr3t-path/mcp"}, "POST /s/s3cr3t-path/mcp HTTP/1.1"),
        ({"url": "http://me:s3cr3t-password@a/"}, "wrong password s3cr3t-password"),
    ],
)  # fmt: skip
def test_secrets_are_taken_out_of_what_servers_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: JsonObject, text: str
) -> None:
    monkeypatch.setenv("SECRET", "s3cr3t-variable")
    shown = read_config(config_file(tmp_path, it=server)).redacted(text)
    assert "***" in shown
    assert "s3cr3t" not in shown
    assert "secretletters" not in shown
