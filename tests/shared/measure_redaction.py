"""How fast masking is: `python -m tests.shared.measure_redaction`.

Prints megabytes of UTF-8 per second of processor time for clean and for masked text, at several message lengths, as the
best of many short rounds, so that a busy machine does not decide. Clean text is chat about software in which names of
secrets occur as words; masked text is the same with one secret in every 250 characters.
"""

import random
import time

from shared.redaction import mask

CLEAN = (
    "I think the retry loop should stop after three attempts; otherwise the worker keeps the lease and nobody else can take the session over.",
    "The build fails in `shared/store/search.py` because the token count is computed before the text is folded, so max_tokens: 4096 is exceeded.",
    "Could you check whether the password form still validates when the field is empty? The error says the key is missing from the dictionary.",
    "Here is the plan: first write the test, then change parse_query() so that a quoted phrase keeps its order, and only then look at ranking.",
    "def active_branch(entries, leaf):\n    path = []\n    while leaf is not None:\n        path.append(leaf)\n        leaf = entries[leaf].parent\n    return path[::-1]",
    "Yesterday's meeting was about the harbour tour; the ferry leaves at noon, and we wanted to ask about tickets for eleven people.",
    "- run `pytest -n 0 tests/shared`\n- look at the third failure\n- commit 3f2a1b0 has the change, see https://example.com/org/repo/pull/417?tab=files",
    "That took 41 ms for 1,003 rows on 2024-01-15, so about 24 rows a millisecond, which is 3 % slower than the run before.",
)
SECRETS = ("ghp_7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd5Qe0UfHgJkKo", "API_KEY=a81hf02jf91hf8a7sdh2", '"password": "hunter2!x"', "postgres://app:S3cr3tPass@db/prod")
LENGTHS = (200, 1_000, 4_000, 64_000)
MEGABYTE = 1_000_000


def texts(length: int, secrets: bool) -> list[str]:
    """About 300 kB in messages of this length."""
    pick = random.Random(7)
    made = []
    for _ in range(max(3, 300_000 // length)):
        parts, size = [], 0
        while size < length:
            part = pick.choice(CLEAN) + (f" {pick.choice(SECRETS)} " if secrets and size % 500 < 250 else "")
            parts.append(part)
            size += len(part) + 1
        made.append("\n".join(parts))
    return made


def speed(messages: list[str], rounds: int = 30) -> float:
    """Megabytes a second of processor time: the best round."""
    size = sum(len(message.encode()) for message in messages)
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for message in messages:
            mask(message)
        best = min(best, time.process_time() - start)
    return size / best / MEGABYTE


def main() -> None:
    print("length of a message   clean MB/s   masked MB/s   masks in 1 kB")
    for length in LENGTHS:
        dirty = texts(length, secrets=True)
        masks = sum(len(mask(message).masks) for message in dirty) / sum(map(len, dirty)) * 1_000
        print(f"{length:19,} {speed(texts(length, secrets=False)):12.1f} {speed(dirty, 5):13.1f} {masks:15.1f}")


if __name__ == "__main__":
    main()
