"""The files of the page: all of them are delivered, none needs anything from elsewhere, and they fit together."""

import re
import tomllib
from pathlib import Path

import yaml

from turnwise import contracts
from turnwise.api.page.serving import FILES

ROOT = Path(__file__).parent.parent
HTML = (FILES / "index.html").read_text()
SCRIPTS = {path.name: path.read_text() for path in (FILES / "js").glob("*.js")}
STYLES = {path.name: path.read_text() for path in (FILES / "css").glob("*.css")}


def test_every_file_is_in_the_package() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packed = {path for pattern in setup["package-data"]["turnwise.api.page"] for path in FILES.parent.glob(pattern)}
    assert "turnwise.api.page" in setup["packages"]
    assert packed == {path for path in FILES.rglob("*") if path.is_file()}


def test_nothing_comes_from_elsewhere_and_nothing_is_inline() -> None:
    assert re.findall(r"""(?:src|href)=["'](?!/static/|#/)""", HTML) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?! type=\"module\" src=)", HTML) == []
    assert [name for name, text in STYLES.items() if re.search(r"url\(|@import", text)] == []
    imported = {source for text in SCRIPTS.values() for source in re.findall(r'from "(.+?)"', text)}
    assert imported == {f"./{name}" for name in SCRIPTS} - {"./app.js"}


def test_text_never_becomes_html() -> None:
    dangerous = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc")
    assert [name for name, text in SCRIPTS.items() if dangerous.search(text)] == []


def test_every_style_is_loaded_and_every_element_that_a_script_names_exists() -> None:
    assert set(re.findall(r"/static/css/([\w.]+)", HTML)) == set(STYLES)
    named = {name for text in SCRIPTS.values() for name in re.findall(r'byId\("([\w-]+)"\)', text)}
    assert named - set(re.findall(r'id="([\w-]+)"', HTML)) == set()


def test_there_are_words_for_every_status_and_for_nothing_else() -> None:
    contract = yaml.safe_load(contracts.read("status.yaml"))
    reasons = {*contract["facts"], *contract["reasons"]}
    table = SCRIPTS["status.js"].split("const SENTENCES = {")[1].split("};")[0]
    keys = [key.split() for key in re.findall(r'^  "?([\w ]+)"?: "', table, re.MULTILINE)]
    assert {key[0] for key in keys if len(key) == 1} == set(contract["statuses"])
    assert {reason for _, reason in (key for key in keys if len(key) == 2)} <= reasons


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    lengths = {name: text.count("\n") for name, text in {**SCRIPTS, **STYLES, "index.html": HTML}.items()}
    assert {name: length for name, length in lengths.items() if length > 400} == {}
