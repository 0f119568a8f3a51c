"""The manual. The two references are printed from the code: `python -m docs` writes them, `--check` tells what is not up to date."""
