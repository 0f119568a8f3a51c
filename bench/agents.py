"""Row 3: one search over the databases of very many agents, all of them open to the caller."""

from pathlib import Path

from bench.corpus import Corpus, jsonl
from bench.figures import Row, ms, percentile, summary
from bench.ground import Ground, say
from bench.raw import Watch
from bench.service import Service

TARGET_MS = 150.0
EVENTS = 12  # an agent
WORDS = ("the", "and", "database", "ferry", "timeout", "zqnothing", "the line", "queue worker")
ROUNDS = 6  # after two that open the connections
SETTLE_S = 3_600.0


def rows(ground: Ground) -> list[Row]:
    count = ground.options.agents
    with Service(ground.folder / "agents", visibility="all", agent_to_agent="*") as service:
        say(f"importing {count:,} agents")
        service.import_folder(_files(ground, count))
        service.run("reindex", "--all")
        watch = Watch(service.data)
        service.work()
        watch.until_settled(SETTLE_S)
        service.serve()
        taken = [_search(service, (*WORDS, *WORDS)), _search(service, WORDS * ROUNDS)][1]
    row = Row("3", f"search over {count:,} agents' databases, warm", f"{TARGET_MS:.0f} ms p95", ms(taken))
    row.reached = percentile(taken, 0.95) <= TARGET_MS
    row.detail = {"searches": summary(taken)}
    return [row]


def _search(service: Service, words: tuple[str, ...]) -> list[float]:
    taken, caller = [], {"agentId": "agent-0000", "sessionKey": "agent:agent-0000:main"}
    with service.client() as client:
        for word in words:
            client.post("/v1/sessions/search", {"query": word, "caller": caller})
            taken.append(client.ms)
    return taken


def _files(ground: Ground, count: int) -> Path:
    say(f"writing {count:,} agents")
    folder = ground.folder / "agents-files"
    for number in range(count):
        sessions = folder / "agents" / f"agent-{number:04d}" / "sessions"
        sessions.mkdir(parents=True)
        session = Corpus(EVENTS, ground.options.seed, name=f"a{number:04d}-").session(0)
        (sessions / f"{session.id}.jsonl").write_text("".join(line + "\n" for line in jsonl(session)), "utf-8")
    return folder
