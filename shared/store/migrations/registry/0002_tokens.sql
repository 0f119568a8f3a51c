-- Credentials. The token itself is nowhere: only its SHA-256, which is enough for 256 random bits.
CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,     -- what operators call it; not a secret
    hash BLOB NOT NULL UNIQUE,        -- SHA-256 of the token's text
    kind TEXT NOT NULL CHECK (kind IN ('platform', 'agent', 'operator')),
    agent_id TEXT,                    -- kind agent: the caller sealed in it
    session_key TEXT,
    sandboxed INTEGER NOT NULL DEFAULT 0,
    read_only INTEGER NOT NULL DEFAULT 0, -- kind operator: looks, does not act
    label TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    revoked_at_ms INTEGER,
    CHECK ((kind = 'agent') = (agent_id IS NOT NULL AND session_key IS NOT NULL))
) STRICT;
