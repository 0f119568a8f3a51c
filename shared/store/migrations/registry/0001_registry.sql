-- Which agents and session keys there are, and who spawned whom across agents. All of it can be rebuilt from the agent databases.

CREATE TABLE agents (
    agent_id      TEXT PRIMARY KEY,
    created_at_ms INTEGER NOT NULL
) STRICT;

-- One row an incarnation of a session key: a key that is used again after a delete names another session. A deleted one keeps its
-- row, so that its children stay in the tree of those above it.
CREATE TABLE lineage (
    session_key         TEXT NOT NULL,
    incarnation         INTEGER NOT NULL,           -- 0, 1, 2 ...: how many sessions of this key were deleted before
    agent_id            TEXT NOT NULL,
    spawned_by          TEXT,                       -- a session key, of any agent
    spawned_incarnation INTEGER NOT NULL DEFAULT 0, -- which incarnation of it
    deleted             INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    PRIMARY KEY (session_key, incarnation)
) STRICT, WITHOUT ROWID;

CREATE INDEX lineage_children ON lineage (spawned_by, spawned_incarnation);
CREATE INDEX lineage_agents ON lineage (agent_id);

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- A caller's tree is read again only when this mark is another one.
INSERT INTO meta (name, value) VALUES ('lineage mark', randomblob(8));

CREATE TRIGGER lineage_added AFTER INSERT ON lineage
BEGIN
    UPDATE meta SET value = randomblob(8) WHERE name = 'lineage mark';
END;

CREATE TRIGGER lineage_changed AFTER UPDATE ON lineage
WHEN NEW.session_key IS NOT OLD.session_key OR NEW.incarnation IS NOT OLD.incarnation OR NEW.agent_id IS NOT OLD.agent_id
     OR NEW.spawned_by IS NOT OLD.spawned_by OR NEW.spawned_incarnation IS NOT OLD.spawned_incarnation OR NEW.deleted IS NOT OLD.deleted
BEGIN
    UPDATE meta SET value = randomblob(8) WHERE name = 'lineage mark';
END;

CREATE TRIGGER lineage_removed AFTER DELETE ON lineage
BEGIN
    UPDATE meta SET value = randomblob(8) WHERE name = 'lineage mark';
END;

-- Exact secrets that hosts registered, to be masked wherever they stand. The file is readable by its owner alone.
CREATE TABLE secrets (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
