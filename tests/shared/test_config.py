"""Settings: read once, checked as a whole; a bad value names its variable, itself and what is allowed."""

import dataclasses
from pathlib import Path

import pytest

from shared.config import Settings, read_settings
from shared.errors import BadSettings


def read(**variables):
    return read_settings({f"SESSION_SEARCH_{name}": value for name, value in variables.items()})


def test_without_any_variable_the_defaults_hold():
    assert read() == Settings()
    assert (Settings().data, Settings().visibility, Settings().redaction) == (Path("data"), "tree", "strict")
    assert Settings().agent_to_agent == frozenset()


def test_an_empty_variable_is_the_default():
    assert read(DATA="", PORT="", VISIBILITY="", AGENT_TO_AGENT="", TIMEZONE="", REINDEX_CRON="", CONFIG="") == Settings()


def test_variables_of_others_are_not_read():
    assert read_settings({"PORT": "1", "session_search_port": "2", "SESSION_SEARCH_PORTS": "3"}) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("DATA", "/srv/sessions", "data", Path("/srv/sessions")),
        ("HOST", "0.0.0.0", "host", "0.0.0.0"),
        ("PORT", "0", "port", 0),
        ("HOSTS", " a.example, b.example ,", "hosts", frozenset({"a.example", "b.example"})),
        ("VISIBILITY", "all", "visibility", "all"),
        ("AGENT_TO_AGENT", "ada, bob", "agent_to_agent", frozenset({"ada", "bob"})),
        ("AGENT_TO_AGENT", "*", "agent_to_agent", frozenset({"*"})),
        ("REDACTION", "off", "redaction", "off"),
        ("TIMEZONE", "Europe/Lisbon", "timezone", "Europe/Lisbon"),
        ("REINDEX_CRON", "15 3 * * 1-5", "reindex_cron", "15 3 * * 1-5"),
        ("SYNCHRONOUS", "NORMAL", "synchronous", "NORMAL"),
        ("WORKER_THREADS", "64", "worker_threads", 64),
        ("LEASE_S", "1", "lease_s", 1),
    ],
)
def test_a_variable_sets_its_field(name, value, field, expected):
    assert getattr(read(**{name: value}), field) == expected


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PORT", "65536", "0 to 65535"),
        ("PORT", "-1", "0 to 65535"),
        ("PORT", "80.5", "0 to 65535"),
        ("PORT", "٨٠", "0 to 65535"),
        ("PORT", " 80", "0 to 65535"),
        ("VISIBILITY", "Tree", "self, tree, agent, all"),
        ("VISIBILITY", "everything", "self, tree, agent, all"),
        ("AGENT_TO_AGENT", "ada,b/b", "agent ids"),
        ("AGENT_TO_AGENT", "ada bob", "agent ids"),
        ("REDACTION", "none", "strict, mask, off"),
        ("TIMEZONE", "Mars/Olympus", "IANA"),
        ("TIMEZONE", "../../etc/passwd", "IANA"),
        ("REINDEX_CRON", "0 3 * *", ""),
        ("REINDEX_CRON", "61 * * * *", ""),
        ("SYNCHRONOUS", "OFF", "FULL, NORMAL"),
        ("WEB_PROCESSES", "0", "1 to 64"),
        ("LEASE_S", "601", "1 to 600"),
        ("SWEEP_S", "1e3", "1 to 3600"),
    ],
)
def test_a_bad_value_is_told_with_its_variable_and_what_is_allowed(name, value, allowed):
    with pytest.raises(BadSettings) as refused:
        read(**{name: value})

    told = str(refused.value)
    assert f"SESSION_SEARCH_{name}" in told
    assert repr(value).strip("'\"") in told or value.split(",")[-1] in told
    assert "allowed: " in told
    assert allowed in told


# ----------------------------------------------------------------------------------------------------- the TOML file


def test_the_file_sets_the_mode_of_single_agents(tmp_path):
    file = tmp_path / "search.toml"
    file.write_text('[agents.ada]\nvisibility = "all"\n[agents."b.o-b_2"]\nvisibility = "self"\n')

    settings = read(CONFIG=str(file), VISIBILITY="agent")

    assert [settings.mode_of(agent) for agent in ("ada", "b.o-b_2", "eve")] == ["all", "self", "agent"]


def test_an_empty_file_sets_nothing(tmp_path):
    (tmp_path / "search.toml").write_text("")

    assert read(CONFIG=str(tmp_path / "search.toml")) == Settings()


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "agents = 3",
        "[agent.ada]\nvisibility = 'all'",
        "[agents.ada]\nvisibility = 'wide'",
        "[agents.ada]\nvisibility = ['all']",
        "[agents.ada]\n",
        "[agents.ada]\nvisibility = 'all'\nredaction = 'off'",
        "[agents]\nada = 'all'",
        "[agents.'a/b']\nvisibility = 'all'",
        "[agents.ada]\nvisibility = 'all'\n[limits]\n",
        "visibility = 'all'",
    ],
)
def test_a_file_that_says_something_else_stops_the_process(tmp_path, text):
    file = tmp_path / "search.toml"
    file.write_text(text)

    with pytest.raises(BadSettings, match="SESSION_SEARCH_CONFIG") as refused:
        read(CONFIG=str(file))

    assert str(file) in str(refused.value)


def test_a_file_that_is_not_there_stops_the_process(tmp_path):
    with pytest.raises(BadSettings, match="SESSION_SEARCH_CONFIG"):
        read(CONFIG=str(tmp_path / "missing.toml"))


def test_settings_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().port = 80
