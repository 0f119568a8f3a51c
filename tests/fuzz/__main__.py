"""Runs one target for some time: exit 0 when no input broke a promise, else the input is a file under tests/artefacts/fuzz/."""

import argparse
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["shared", "worker"]):
    from tests.fuzz.targets import CORPUS, TARGETS

FOUND = Path(__file__).parent.parent / "artefacts" / "fuzz"
BRANCHES = Path(__file__).parent.parent / "fixtures" / "branches"  # files of every format, to begin with
WORDS = Path(__file__).parent / "words.txt"  # what the formats call things; the engine puts them where it likes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--longest", type=int, default=2_048, help="bytes of an input")
    asked = parser.parse_args()
    grown = FOUND / asked.target / "grown"  # inputs that reached new code; small ones that tell something belong into the corpus
    grown.mkdir(parents=True, exist_ok=True)
    dictionary = FOUND / "words.txt"
    words = WORDS.read_text("utf-8").split("\n")
    dictionary.write_text("".join('"' + word.replace("\\", "\\\\") + '"\n' for word in words if word))
    seeds = [CORPUS / asked.target, BRANCHES / asked.target]
    arguments = [
        *(sys.argv[0], str(grown), *(str(folder) for folder in seeds if folder.is_dir()), f"-dict={dictionary}"),
        *(f"-max_total_time={asked.seconds}", f"-max_len={asked.longest}", f"-artifact_prefix={FOUND / asked.target}/", "-timeout=30"),
    ]
    atheris.Setup(arguments, TARGETS[asked.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
