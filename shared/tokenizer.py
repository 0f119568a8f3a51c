"""What the index and the analyser agree on, apart from the analyser itself, so that opening a database does not load it."""

import string

ANALYSER_VERSION = 1  # a change of any token makes every indexed session pending

SIGN_CHARS = string.punctuation
# The option of CREATE VIRTUAL TABLE ... USING fts5(text, parts, ...): spaces separate, nothing else does.
TOKENIZE = "tokenize = \"ascii tokenchars '" + SIGN_CHARS.replace('"', '""').replace("'", "''") + "'\""
