"""The operators' routes."""

import msgspec
import pytest

from tests.web.conftest import ADA, Visitor, message, say
from web import answers


@pytest.fixture
def owed(platform: Visitor) -> None:
    """One session with work owed, and a job for it."""
    say(platform, message("a", "alpha"), message("b", "beta"))
    platform.post("/v1/sessions/rewind", {**ADA, "toEventId": "a"})
    platform.post("/v1/sessions/search", {"query": "alpha", "caller": ADA})


def first_job(operator: Visitor) -> dict[str, str]:
    job: dict[str, str] = operator.get("/v1/ops/jobs").get_json()["jobs"][0]
    return job


@pytest.mark.usefixtures("owed")
def test_agents_counts_the_sessions_by_the_state_of_their_index(operator: Visitor):
    found = msgspec.convert(operator.get("/v1/ops/agents").get_json(), answers.Agents)

    assert [(row.agent_id, row.sessions, row.pending, row.failed) for row in found.agents] == [("ada", 1, 1, 0)]


@pytest.mark.usefixtures("owed")
def test_queue_answers_the_fields_of_the_contract(operator: Visitor):
    found = msgspec.convert(operator.get("/v1/ops/queue").get_json(), answers.QueueState)

    assert found.depth["queued"] == 1
    assert found.paused is False
    assert found.workers == []


@pytest.mark.usefixtures("owed")
def test_jobs_are_found_by_every_filter(operator: Visitor):
    job = first_job(operator)

    for named in ({"state": "queued"}, {"task": "reconcile"}, {"agentId": "ada"}, {"sessionKey": "agent:ada:main"}, {"q": job["id"]}, {}):
        found = msgspec.convert(operator.get("/v1/ops/jobs", **named).get_json(), answers.Jobs)
        assert [row.id for row in found.jobs] == [job["id"]]
    for named in (
        {"state": "failed"},
        {"task": "erase"},
        {"agentId": "grete"},
        {"q": "no such text"},
        {"since": "2100-01-01"},
        {"until": 1},
    ):
        assert operator.get("/v1/ops/jobs", **named).get_json()["jobs"] == []


@pytest.mark.usefixtures("owed")
def test_one_job_comes_with_its_timeline(operator: Visitor):
    found = operator.get(f"/v1/ops/jobs/{first_job(operator)['id']}").get_json()

    assert msgspec.convert(found, answers.JobDetail).timeline[0].event == "queued"


@pytest.mark.parametrize("path", ["jobs/none", "batches/none", "jobs/" + "x" * 65])
def test_what_is_not_there_is_a_404(operator: Visitor, path: str):
    assert operator.get("/v1/ops/" + path).status_code == 404


@pytest.mark.usefixtures("owed")
def test_a_job_is_cancelled_and_retried(operator: Visitor):
    path = f"/v1/ops/jobs/{first_job(operator)['id']}"

    cancelled = operator.post(path + "/cancel")
    again = operator.post(path + "/cancel")
    retried = operator.post(path + "/retry")

    assert cancelled.get_json()["state"] == "cancelled"
    assert again.status_code == 409
    assert msgspec.convert(retried.get_json(), answers.JobDetail).state == "queued"


@pytest.mark.usefixtures("owed")
def test_jobs_are_cancelled_and_retried_by_filter(operator: Visitor):
    assert operator.post("/v1/ops/jobs/cancel", {"agentId": "grete"}).get_json() == {"changed": 0}
    assert operator.post("/v1/ops/jobs/cancel", {"state": "queued"}).get_json() == {"changed": 1}
    assert operator.post("/v1/ops/jobs/retry", {"state": "cancelled"}).get_json() == {"changed": 1}


def test_the_queue_is_paused_and_resumed(operator: Visitor):
    assert operator.post("/v1/ops/queue/pause").get_json() == {"paused": True}
    assert operator.get("/v1/ops/queue").get_json()["paused"] is True
    assert operator.post("/v1/ops/queue/resume").get_json() == {"paused": False}
    assert operator.get("/v1/ops/queue").get_json()["paused"] is False


@pytest.mark.usefixtures("owed")
def test_a_reindex_is_taken_on_and_its_batch_can_be_followed(operator: Visitor):
    answer = operator.post("/v1/ops/reindex", {"agentId": "ada", "force": True})

    assert answer.status_code == 202
    order = msgspec.convert(answer.get_json(), answers.Ordered)
    batch = msgspec.convert(operator.get(f"/v1/ops/batches/{order.batch_id}").get_json(), answers.Batch)
    assert (order.sessions, batch.sessions) == (1, 1)


def test_a_reindex_of_an_agent_that_is_not_there_is_a_404(operator: Visitor):
    assert operator.post("/v1/ops/reindex", {"agentId": "nobody"}).status_code == 404


def test_a_reindex_by_get_changes_nothing(operator: Visitor):
    assert operator.get("/v1/ops/reindex", all="true").status_code == 405
    assert operator.get("/v1/ops/jobs").get_json()["jobs"] == []


@pytest.mark.usefixtures("owed")
@pytest.mark.parametrize("path", ["agents", "queue", "jobs"])
def test_operators_see_no_text_of_a_transcript(operator: Visitor, path: str):
    assert "alpha" not in operator.get("/v1/ops/" + path).text
    assert "alpha" not in operator.get("/ops").text
