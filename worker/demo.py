"""session-search demo: the promises, shown on a few transcripts of our own making, and checked while they are shown.

Everything happens in a new folder with processes of its own; no other data folder is touched. The transcripts are in demo_data:
invented talk in five languages, with tool calls, reasoning, an image, a branch, rewinds, and one fake secret.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from shared.clock import now_ms
from shared.config import Settings
from worker.cli import DONE, FAILED
from worker.commands.common import say, say_json
from worker.demo_rig import Answer, Ended, Rig
from worker.importing import import_paths, render_report

TRANSCRIPTS = Path(__file__).parent / "demo_data"
FORMATS = ("openclaw", "claude-code", "codex")
WHOLE_S = 30.0  # how long an answer may stay incomplete; a fifth of a second is usual
CALLER = {"agentId": "ada", "sessionKey": "agent:ada:desk"}
TIMETABLE = "agent:ada:ferry-timetable"
SECRET = "ghp_0FAKE1fake2FAKE3fake4FAKE5fake6FAKE7"  # noqa: S105  # of the right shape, never valid

LANGUAGES = (
    ("timetable", "English"),
    ("horario verao", "Portuguese, typed without accents"),
    ("渡轮", "Chinese"),
    ("茶", "one character is enough"),
    ("じゃがいも", "Japanese"),
    ("เรือข้ามฟาก", "Thai"),
)
NOT_FOUND = (
    ("lighthouse", "a branch that was left"),
    ("eleven", "a turn rewound in Claude Code"),
    ("二十人分", "a turn rolled back in Codex"),
    ("turnstile", "the result of a tool"),
    ("overbooked", "the model's reasoning"),
    ("pumpkins", "a session of another agent"),
)


def run_demo(settings: Settings, once: bool, *, as_json: bool = False) -> int:
    """Shows the demo and stays up until Ctrl-C; with `once` it ends by itself. The exit code: 0 when all was as promised.

    settings: where web listens; a port that is taken is replaced by a free one. as_json: one line in place of the story.
    raises: DemoFailed.
    """
    tell = _nothing if as_json else say
    with Rig(settings) as rig:
        story = _Story(rig, tell)
        with suppress(Ended):
            story.tell()
            if as_json:
                say_json({"address": rig.address, "tokens": rig.tokens, "notAsPromised": story.broken})
            if not once:
                tell("Ctrl-C ends it.")
                rig.wait_for_end()
    tell("Ended; nothing of it is left.")
    return DONE if story.told and not story.broken else FAILED


def _nothing(line: str = "") -> None:
    """In place of say, where machines read."""


class _Story:
    """The steps, in order. told: all of them were shown; broken: what was not as promised."""

    def __init__(self, rig: Rig, tell: Callable[..., None]) -> None:
        self._rig, self._say = rig, tell
        self.told = False
        self.broken: list[str] = []

    def tell(self) -> None:
        """Every step, then the way on. raises: DemoFailed, Ended."""
        self._start()
        self._import()
        self._search_right_away()
        self._append()
        self._languages()
        self._not_found()
        self._secret()
        self._rewind()
        self._pages()
        self._go_on()
        self.told = True

    def _start(self) -> None:
        for kind in ("platform", "operator"):
            self._rig.issue(kind)
        self._rig.issue("agent", agent_id=CALLER["agentId"], session_key=CALLER["sessionKey"])
        self._rig.start()
        self._say(f"Web answers on {self._rig.address} and a worker runs.")
        self._say(f"Their data is in {self._rig.folder}, which is removed at the end.")

    def _import(self) -> None:
        self._title("Transcripts of three programs come in, without an index")
        for name in FORMATS:
            report = import_paths(self._rig.store, name, [TRANSCRIPTS / name], agent=CALLER["agentId"], now_ms=now_ms())
            self._say(f"   import {name:<12} {render_report(report)}")
            self._promise(report.exit_code == 0 and not report.skipped, "every line of the transcripts is understood")

    def _search_right_away(self) -> None:
        self._title("A search right away says that it is not whole yet; asking again is enough")
        self._say(f"   POST /v1/sessions/search {json.dumps({'query': 'ferry', 'caller': CALLER})}")
        first = self._search("ferry")
        self._show_counts("at once", first)
        self._say(f"   {'':<14} {first.body.get('warning')}")
        self._promise(first.body["indexing"] and first.body["pendingSessions"] > 0, "the first answer says indexing: true")
        whole = self._search_until_whole("ferry")
        for hit in whole.body["results"]:
            self._say(f"   {hit['role']:<14} {_marked(hit)}")
        self._promise(len(whole.body["results"]) == 5, "the whole answer has five results")

    def _append(self) -> None:
        self._title("A message is found as soon as its append is answered")
        event = {"type": "message", "message": {"role": "user", "content": "The harbour master wants the timetable printed in green."}}
        answer = self._rig.ask("/v1/sessions/append", {**CALLER, "events": [event]})
        self._say(f"   append         {answer.status} {json.dumps(answer.body)}")
        found = self._search("harbour master")
        self._show_hits("harbour master", found)
        self._promise(len(found.body["results"]) == 1 and not found.body["indexing"], "the appended message is found at once")

    def _languages(self) -> None:
        self._title("Words of every script, accents or not, inside a run of text too")
        for query, language in LANGUAGES:
            self._say(f"   {query}   ({language})")
            found = self._search(query)
            self._show_hits("", found, most=1)
            self._promise(bool(found.body["results"]) and bool(found.body["results"][0]["highlights"]), f"{query} is found and marked")

    def _not_found(self) -> None:
        self._title("What is not said in a conversation that the caller sees is not found")
        for query, why in NOT_FOUND:
            count = len(self._search(query).body["results"])
            self._say(f"   {_results(count):<14} {query}: {why}")
            self._promise(count == 0, f"{query} is not found: {why}")

    def _secret(self) -> None:
        self._title("A secret stays in: masked in what is shown, and in no index")
        around = self._search('"package mirror"')
        self._show_hits('"package mirror"', around)
        self._promise(len(around.body["results"]) == 1 and SECRET not in json.dumps(around.body), "the message is found, its secret masked")
        self._promise(around.body["results"][:1] != [] and around.body["results"][0]["redacted"] == 1, "the mask is counted")
        guess = len(self._search(SECRET).body["results"])
        self._say(f"   {_results(guess):<14} {SECRET}")
        self._promise(guess == 0, "a search for the secret itself finds nothing")

    def _rewind(self) -> None:
        self._title("A rewind takes text away at once; what is still on the branch stays")
        before = self._search("bicycles")
        self._show_hits("bicycles", before)
        where = {"agentId": "ada", "sessionKey": TIMETABLE, "toEventId": "e12"}
        self._say(f"   POST /v1/sessions/rewind {json.dumps(where)}")
        answer = self._rig.ask("/v1/sessions/rewind", where)
        gone, kept = self._search("bicycles"), self._search("wind")
        self._say(f"   rewind         {answer.status} {json.dumps(answer.body)}")
        self._show_counts("bicycles", gone)
        self._show_hits("wind", kept)
        whole = self._search_until_whole("bicycles")
        self._promise(len(before.body["results"]) == 1 and answer.status == 200, "the message is there before the rewind")
        self._promise(not gone.body["results"] and not whole.body["results"], "it is gone from the next answer on")
        self._promise(len(kept.body["results"]) == 2, "what stands before it is still found")

    def _pages(self) -> None:
        search = self._rig.ask("/?query=ferry", kind="agent")
        jobs = self._rig.ask("/ops", kind="operator")
        self._promise(search.status == 200 and "<mark>" in search.body, "the search page shows its hits")
        self._promise(jobs.status == 200 and "reconcile" in jobs.body, "the job page shows the jobs that did the work")

    def _go_on(self) -> None:
        self._say()
        self._say("Everything was as promised." if not self.broken else f"Not as promised: {len(self.broken)}.")
        self._say()
        address, tokens = self._rig.address, self._rig.tokens
        self._say(f"Search page    {address}/      sign in with {tokens['agent']}")
        self._say(f"Job page       {address}/ops   sign in with {tokens['operator']}")
        self._say("Go on with")
        self._say(f"  curl -s {address}/v1/sessions/search -H 'Authorization: Bearer {tokens['agent']}' \\")
        self._say("""    -H 'Content-Type: application/json' -d '{"query": "noon ferry"}'""")
        self._say()

    # -- asking and showing

    def _search(self, query: str) -> Answer:
        answer = self._rig.ask("/v1/sessions/search", {"query": query, "caller": CALLER})
        self._promise(answer.status == 200, f"a search for {query} is answered ({answer.status} {answer.body})")
        return answer

    def _search_until_whole(self, query: str) -> Answer:
        begun = time.monotonic()
        while (answer := self._search(query)).body["indexing"] and time.monotonic() - begun < WHOLE_S:
            self._rig.pause()
        self._show_counts(f"{time.monotonic() - begun:.1f} s later", answer)
        self._promise(not answer.body["indexing"], "an answer is whole a moment later")
        return answer

    def _title(self, words: str) -> None:
        self._say()
        self._say(words)

    def _show_counts(self, what: str, answer: Answer) -> None:
        parts = {name: answer.body[name] for name in ("indexing", "pendingSessions")}
        self._say(f"   {what:<14} {_results(len(answer.body['results']))}, {json.dumps(parts)[1:-1]}")

    def _show_hits(self, what: str, answer: Answer, most: int = 5) -> None:
        if what:
            self._say(f"   {what:<14} {_results(len(answer.body['results']))}")
        for hit in answer.body["results"][:most]:
            self._say(f"   {'':<14} {_marked(hit)}")

    def _promise(self, kept: bool, words: str) -> None:
        if not kept:
            self.broken.append(words)
            self._say(f"   NOT AS PROMISED: {words}")


def _results(count: int) -> str:
    return f"{count} result{'' if count == 1 else 's'}"


def _marked(hit: dict[str, Any]) -> str:
    """The excerpt with its highlights between « and »."""
    text = hit["excerpt"]
    for start, end in reversed(hit["highlights"]):
        text = f"{text[:start]}«{text[start:end]}»{text[end:]}"
    return str(text)
