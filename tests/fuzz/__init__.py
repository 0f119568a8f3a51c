"""Coverage-guided fuzzing of what reads other people's bytes: `python -m tests.fuzz TARGET --seconds N` (extra `fuzz`).

A target takes bytes and fails when a promise is broken, not only when something raises. What a run found out is kept as a small corpus,
which the tests replay without the fuzzer.
"""
