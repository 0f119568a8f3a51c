"""Row 11: searches a second by many clients at two web processes, while appends go on."""

import threading
import time
from typing import Any

from bench import append
from bench.figures import Row, ms, percentile, short, summary
from bench.ground import Ground, say
from bench.service import Service

CLIENTS, APPENDS_S = 16, 50
TARGET = 600.0


def rows(ground: Ground) -> list[Row]:
    """On the main corpus' data folder, which a web of two processes is started on beside the other."""
    assert ground.main
    with Service(ground.folder / "main", web_processes=2) as service:
        ground.main.end("serve")
        try:
            service.serve()
            return [_load(ground, service)]
        finally:
            service.end("serve")
            ground.main.serve()


def _load(ground: Ground, service: Service) -> Row:
    asked = [(caller, one.text) for found in ground.queries.values() for one in found for caller in ground.callers.values()]
    over, failures = threading.Event(), list[BaseException]()
    searches: list[list[float]] = [[] for _ in range(CLIENTS)]
    appends: list[float] = []
    threads = [threading.Thread(target=_searcher, args=(service, asked[n::CLIENTS], over, searches[n], failures)) for n in range(CLIENTS)]
    threads.append(threading.Thread(target=_appender, args=(ground, service, over, appends, failures)))
    say(f"{CLIENTS} clients for {ground.options.load_s:.0f} s")
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    over.wait(ground.options.load_s)
    over.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    seconds, taken = time.monotonic() - begun, [one for found in searches for one in found]
    rate, appended = len(taken) / seconds, len(appends) / seconds
    row = Row("11", f"searches a second, {CLIENTS} clients, two web processes", f"{TARGET:.0f}, with {APPENDS_S} appends/s")
    row.ours = f"{rate:,.0f}/s ({ms(taken)})"
    row.beside, row.ratio = f"{short(appended)} appends/s, p95 {short(percentile(appends, 0.95))} ms", short(rate / TARGET)
    row.reached = rate >= TARGET and appended >= 0.9 * APPENDS_S
    row.detail = {"searches": summary(taken), "appends": summary(appends), "seconds": seconds}
    row.detail["searches by client"] = sorted(len(found) for found in searches)  # far apart: the server is not fair to its connections
    return row


def _searcher(
    service: Service, asked: list[tuple[dict[str, Any], str]], over: threading.Event, taken: list[float], failures: list[BaseException]
) -> None:
    try:
        with service.client() as client:
            at = 0
            while not over.is_set():
                caller, query = asked[at % len(asked)]
                client.post("/v1/sessions/search", {"query": query, "caller": caller})
                taken.append(client.ms)
                at += 1
    except Exception as e:
        failures.append(e)
        over.set()


def _appender(ground: Ground, service: Service, over: threading.Event, taken: list[float], failures: list[BaseException]) -> None:
    """Appends at a fixed pace, each when its moment has come, into the agent that is searched."""
    key = "agent:bench:beside"
    try:
        with service.client() as client:
            sent = append.messages(int(APPENDS_S * ground.options.load_s) + 100, ground.options.seed + 6, "load")
            begun = time.monotonic()
            for number, (event, _) in enumerate(sent):
                if over.wait(max(0.0, begun + number / APPENDS_S - time.monotonic())):
                    break
                client.post(append.PATH, {"agentId": "bench", "sessionKey": key, "events": [event]})
                taken.append(client.ms)
    except Exception as e:
        failures.append(e)
        over.set()
