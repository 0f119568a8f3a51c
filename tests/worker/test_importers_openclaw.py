"""OpenClaw's and pi's session files: versions, trees, and what is mended."""

import json
from pathlib import Path

import pytest

from shared.searchable import message_text
from worker.importers import openclaw
from worker.importers.base import Problems
from worker.importers.openclaw_index import Index

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts" / "openclaw"
HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/deck"}


def message(event_id, parent, text="word", **fields):
    return {"type": "message", "id": event_id, "parentId": parent, "timestamp": "2026-01-01T00:00:01Z", "message": {"role": "user", "content": text}, **fields}


def read(path):
    problems = Problems()
    [source] = [(source, list(source.events)) for source in openclaw.read(path, problems)]
    return *source, problems


def read_lines(tmp_path, *lines, name="a.jsonl"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read(path)


def reasons(problems):
    return [problem.text("a.jsonl") for problem in problems.found]


def test_events_of_version_3_are_given_as_they_stand():
    path = FIXTURES / "agents" / "skipper" / "sessions" / "harbour.jsonl"

    source, events, problems = read(path)

    assert (source.session_id, source.agent_id, source.created_at_ms) == ("harbour", "skipper", 1772438400000)
    assert events == [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert problems.found == []


def test_a_flat_file_without_ids_is_one_line_of_events_named_by_their_lines():
    source, events, problems = read(FIXTURES / "flat.jsonl")

    assert [(event["id"], "parentId" in event) for event in events] == [("l000002", False), ("l000003", False), ("l000004", False), ("l000005", False)]
    assert [message_text(event) for event in events] == ["Count the fenders.", "Eight fenders.", "", "Count the fenders."]
    assert source.agent_id is None
    assert problems.found == []


def test_controls_side_appends_and_unknown_types_pass_through(tmp_path):
    lines = [
        message("A", None),
        message("B", "A", appendMode="side"),
        {"type": "leaf", "id": "L", "targetId": None},
        {"type": "reset", "id": "R", "parentId": None},
        {"type": "branch_summary", "id": "S", "parentId": "A", "fromId": "B", "summary": "x"},
        {"type": "of-the-future", "id": "F", "parentId": "A", "kept": [1, {"x": None}]},
    ]

    _, events, problems = read_lines(tmp_path, HEADER, *lines)

    assert events == [{**line, "timestamp": "2026-01-01T00:00:01Z"} for line in lines]
    assert problems.found == []


def test_a_repeated_id_is_kept_once_and_told(tmp_path):
    _, events, problems = read_lines(tmp_path, HEADER, message("A", None), message("A", None), message("A", None, "other"))

    assert events == [message("A", None)]
    assert reasons(problems) == [
        "a.jsonl:3: id 'A' repeated with the same content; the first one is kept",
        "a.jsonl:4: id 'A' repeated with other content; the first one is kept",
    ]


def test_a_missing_parent_is_told(tmp_path):
    _, events, problems = read_lines(tmp_path, HEADER, message("A", None), message("B", "ghost"))

    assert [event["id"] for event in events] == ["A", "B"]
    assert reasons(problems) == ["a.jsonl:3: parent 'ghost' not found before this line; the event hangs on the leaf"]


def test_a_cycle_is_cut_where_it_names_a_later_event(tmp_path):
    _, events, problems = read_lines(tmp_path, HEADER, message("X", "Z"), message("Y", "X"), message("Z", "Y"), message("S", "S"))

    assert [event["id"] for event in events] == ["X", "Y", "Z", "S"]
    assert reasons(problems) == [
        "a.jsonl:2: parent 'Z' not found before this line; the event hangs on the leaf",
        "a.jsonl:5: parent 'S' not found before this line; the event hangs on the leaf",
    ]


def test_a_long_id_is_replaced_wherever_it_is_named(tmp_path):
    long = "x" * 300

    _, events, problems = read_lines(tmp_path, HEADER, message(long, None), message("B", long), {"type": "leaf", "id": "L", "targetId": long})

    short = events[0]["id"]
    assert len(short) <= 256
    assert (events[1]["parentId"], events[2]["targetId"]) == (short, short)
    assert len(problems.found) == 1 and problems.found[0].line == 2


@pytest.mark.parametrize("value", [5, "", [], True])
def test_an_id_of_a_wrong_type_gives_way_to_the_lines(value, tmp_path):
    _, events, problems = read_lines(tmp_path, HEADER, message(value, None))

    assert events[0]["id"] == "l000002"
    assert len(problems.found) == 1


def test_an_event_without_a_time_is_lent_that_of_the_event_before_it(tmp_path):
    untimed = {name: value for name, value in message("C", "B").items() if name != "timestamp"}

    _, events, problems = read_lines(tmp_path, HEADER, {**untimed, "id": "A", "parentId": None}, message("B", "A"), untimed, message("D", "C", timestamp="noon"))

    assert [event["timestamp"] for event in events] == ["2026-01-01T00:00:00Z"] + ["2026-01-01T00:00:01Z"] * 3
    assert events[3]["sourceTimestamp"] == "noon"
    assert reasons(problems) == ["a.jsonl:5: timestamp 'noon' is not a time; the event before it lends its own"]


@pytest.mark.parametrize(
    ("name", "session_id"),
    [("harbour.jsonl", "harbour"), ("2026-01-01T00-00-00-000Z_0b5e.jsonl", "0b5e")],
)
def test_a_lost_header_is_told_and_the_files_name_stands_in(name, session_id, tmp_path):
    source, events, problems = read_lines(tmp_path, message("A", None), message("B", "A"), name=name)

    assert source.session_id == session_id
    assert len(events) == 2
    assert len(problems.found) == 1


def test_a_fork_names_the_session_it_was_copied_from(tmp_path):
    source, _, _ = read_lines(tmp_path, {**HEADER, "parentSession": "/x/2026-01-01T00-00-00-000Z_0b5e.jsonl"}, message("A", None))

    assert source.copied_from == "0b5e"


@pytest.mark.parametrize("folder", ["agents/b-d/sessions", "x/agents/.b_9/sessions"])
def test_the_folder_names_the_agent(folder, tmp_path):
    source, _, _ = read_lines(tmp_path, HEADER, message("A", None), name=f"{folder}/a.jsonl")

    assert source.agent_id == folder.split("/")[-2]


@pytest.mark.parametrize("folder", ["agents/b d/sessions", "agents/sessions", "sessions"])
def test_a_folder_that_cannot_name_an_agent_does_not(folder, tmp_path):
    source, _, _ = read_lines(tmp_path, HEADER, message("A", None), name=f"{folder}/a.jsonl")

    assert source.agent_id is None


def test_naming_a_session_does_not_look_through_the_whole_index_each_time():
    """Every label once walked all entries, so that importing 10,000 sessions with their lineage took minutes on the index alone."""
    walked = []

    class Entries(dict):
        def items(self):
            walked.append(len(self))
            return super().items()

    index = Index(Entries({f"agent:ada:{n}": {"sessionId": f"s{n}", "label": f"title {n}", "usageFamilySessionIds": [f"old{n}"]} for n in range(50)}))

    titles = [index.label(f"{name}{n}", lambda agent_id: Index()).title for n in range(50) for name in ("s", "old")]

    assert titles == [f"title {n}" for n in range(50) for _ in range(2)]
    assert walked == [50]


def test_the_first_entry_that_names_a_session_names_it():
    index = Index({"agent:ada:new": {"sessionId": "s1", "label": "new"}, "agent:ada:old": {"sessionId": "s1", "label": "old"}})

    assert index.label("s1", lambda agent_id: Index()).title == "new"
