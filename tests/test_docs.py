"""The README, DEVELOPERS.md and docs/ are in step with the code: commands, settings, formats, files, and every answer that is shown."""

import json
import re
import shlex
import subprocess
import tomllib
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from docs.__main__ import main
from shared.config import Settings
from shared.tokens import issue_token
from web import create_app
from web.operations import OPERATIONS
from web.services import EXTENSION
from worker.cli import COMMANDS
from worker.importers import FORMATS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
DEVELOPERS = (ROOT / "DEVELOPERS.md").read_text("utf-8")
PAGES = {path.name: path.read_text("utf-8") for path in [ROOT / "README.md", ROOT / "DEVELOPERS.md", *sorted((ROOT / "docs").glob("*.md"))]}
ALL = "\n".join(PAGES.values())
PRINTED = {"http.md", "cli.md"}  # from the code
OF_THE_MOMENT = {"createdAt", "updatedAt"}  # fields of the examples whose values are another time's


def test_the_settings_table_has_every_variable_with_its_default_and_no_other():
    shown = {row[0]: row[1] for row in table_rows("## Settings")}

    assert shown == {f"`SESSION_SEARCH_{name}`": default for name, default in variables().items()}


def test_the_references_are_as_the_code_has_them(capsys):
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_the_http_reference_has_every_operation_and_says_what_each_field_is():
    for operation in OPERATIONS:
        assert f"### `{' or '.join(operation.methods)} {operation.path}`" in PAGES["http.md"]
    assert not re.search(r"^\| `\w+` \|  ?\|", PAGES["http.md"], re.MULTILINE)


def test_the_command_reference_says_what_every_option_does():
    assert len(re.findall(r"^\| `-", PAGES["cli.md"], re.MULTILINE)) > 40
    assert re.findall(r"^\| `(-[^`]*)` \|  \|", PAGES["cli.md"], re.MULTILINE) == []


def test_every_page_for_people_is_named(client):
    pages = {str(rule) for rule in client.application.url_map.iter_rules()} - {re.sub(r"\{(\w+)\}", r"<id:\1>", o.path) for o in OPERATIONS}
    named = re.findall(r"`(/[a-z]*)`", README)

    assert {page for page in pages if page.count("/") == 1} - {"/history", "/logout"} <= set(named)


def test_the_table_of_commands_has_every_command_and_no_other():
    shown = {found.split()[0] for row in table_rows("## Commands") for found in re.findall(r"`([^`]+)`", row[0])}

    assert shown == set(COMMANDS)


def test_every_command_line_shown_is_one_the_program_has():
    used = {found for found in re.findall(r"session-search ([a-z-]+)", ALL) if found not in ("is", "stores")}

    assert used <= set(COMMANDS)


def test_every_option_shown_beside_a_command_is_one_of_its_own():
    for row in table_rows("## Commands"):
        for name in (found.split()[0] for found in re.findall(r"`([^`]+)`", row[0])):
            for option in re.findall(r"--[a-z-]+", " ".join(row)):
                assert option in help_of(name), f"{name} has no {option}"


def test_the_formats_named_are_those_that_can_be_imported():
    named = README[README.index("Formats to import:") :].split(". ")[0]

    assert re.findall(r"`([a-z-]+)`", named) == list(FORMATS)


def test_every_file_that_is_named_exists():
    words = set(re.findall(r"[\w./-]+/[\w./-]*", ALL)) | set(re.findall(r"`([\w-]+\.(?:py|md|txt|toml))`", README + DEVELOPERS))
    named = {word for word in words if re.match(r"(?:shared|web|worker|tests|docs|deploy|\.ci)/", word)}

    assert len(named) > 20
    assert [word for word in sorted(named) if not (ROOT / word.rstrip(".")).exists()] == []


def test_every_name_that_is_said_to_stand_in_a_file_stands_there():
    said = re.findall(r"`(\w+)`(?: and a line in `\w+`, both)? (?:in|of)\s+`([\w/]+\.py)`", DEVELOPERS)

    assert len(said) >= 4
    assert [name for name, path in said if not re.search(rf"\b{name}\b", (ROOT / path).read_text("utf-8"))] == []


def test_the_readme_has_exactly_two_commands_that_make_the_venv_and_all_shell_parses():
    making = [block for block in blocks(README, "sh") if block.startswith("python3 -m venv")]

    assert len(making) == 2 and all(block.count("\n") == 1 for block in making)
    for block in blocks(ALL, "sh"):
        assert subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False).stderr == ""


@pytest.mark.parametrize(
    ("shown", "fewest"), [(README[README.index("## The API in short") :], 3), (PAGES["by-example.md"], 9)], ids=["README", "by example"]
)
def test_every_answer_shown_is_the_answer_to_the_request_above_it(client, platform, shown, fewest):
    asked, made = 0, "ferry-1"  # the session's id, which a first append makes up
    for found in re.finditer(r"```sh\n(ask .*?)```\n\n```json\n(.*?)```", shown, re.DOTALL):
        _, path, body = shlex.split(found[1])

        answer = client.post(path, json=json.loads(body), headers={"Authorization": f"Bearer {platform}"})

        real = answer.get_json(force=True)
        made = real.get("sessionId", made) if path.endswith("/append") else made
        assert real == same_moment(json.loads(found[2].replace("ferry-1", made)), real), path
        asked += 1
    assert asked == len(blocks(shown, "json")) == fewest


def test_every_dependency_has_a_version_in_the_constraints_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = project["dependencies"] + [one for extra in project["optional-dependencies"].values() for one in extra]
    pinned = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text("utf-8").split("\n") if "==" in line
    }

    assert [one for one in needed if re.split(r"[<>=\[]", one)[0].lower() not in pinned] == []


@pytest.mark.parametrize("name", PAGES)
def test_no_line_is_too_long_to_read_and_no_link_leads_nowhere(name):
    folder = ROOT if name.isupper() or (ROOT / name).exists() else ROOT / "docs"
    lines = [line for line in PAGES[name].split("\n") if len(line) > 150 and not (line.startswith("|") and folder != ROOT)]

    assert lines == []
    for path, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", PAGES[name]):
        target = folder / path if path else folder / name
        assert target.exists(), path
        assert not heading or heading in anchors(target.read_text("utf-8")), heading


def test_every_page_of_the_manual_is_linked_from_the_readme():
    assert [name for name in PAGES if f"docs/{name})" not in README and not (ROOT / name).exists()] == []


# -- the documents


def anchors(text: str) -> set[str]:
    """The addresses of a page's headings, as they are made from their words."""
    return {re.sub(r"[^\w -]", "", found.lower()).replace(" ", "-") for found in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def table_rows(after: str) -> list[list[str]]:
    """The rows of the first table after these words, without its head; a bar inside a code span divides nothing."""
    lines = README[README.index(after) :].split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("| ---"))
    rows = []
    for line in lines[first + 1 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return rows


def same_moment(shown: Any, real: Any) -> Any:
    """What is shown, with the real values in the fields that tell the time of the request."""
    if isinstance(shown, dict) and isinstance(real, dict):
        return {name: real.get(name) if name in OF_THE_MOMENT else same_moment(value, real.get(name)) for name, value in shown.items()}
    if isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        return [same_moment(one, other) for one, other in zip(shown, real, strict=True)]
    return shown


# -- the code


def variables() -> dict[str, str]:
    """Every SESSION_SEARCH_ variable and its default as the table writes it."""
    found = {field.name.upper(): default_of(field) for field in fields(Settings) if field.name != "agent_visibility"}
    return {**found, "CONFIG": ""}  # the file that holds agent_visibility


def default_of(field: "Field[Any]") -> str:
    value = field.default_factory() if field.default is MISSING else field.default  # type: ignore[misc]
    return f"`{value}`" if value not in ("", frozenset()) else ""


def help_of(command: str) -> str:
    import click
    from click.testing import CliRunner

    from worker.cli import session_search

    runner = CliRunner()
    text = runner.invoke(session_search, [command, "--help"]).output
    found = session_search.get_command(click.Context(session_search), command)
    for name in getattr(found, "commands", {}):
        text += runner.invoke(session_search, [command, name, "--help"]).output
    return text


@pytest.fixture
def client(tmp_path: Path) -> Any:
    app = create_app(Settings(data=tmp_path / "data"))
    yield app.test_client(use_cookies=False)
    app.extensions[EXTENSION].close()


@pytest.fixture
def platform(client: FlaskClient) -> str:
    here = client.application.extensions[EXTENSION]
    return issue_token(here.store, "platform", here.now_ms()).text
