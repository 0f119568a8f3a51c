-- One agent's database. First the truth, which only the write verbs and foreign programs change; then the projection, which may be
-- dropped and rebuilt from the events at any time.

------------------------------------------------------------------------------------------------------------------ truth

CREATE TABLE sessions (
    session_no          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_key         TEXT NOT NULL UNIQUE,
    incarnation         INTEGER NOT NULL,           -- as in the registry's lineage
    session_id          TEXT NOT NULL,              -- the transcript now under the key
    spawned_by          TEXT,
    spawned_incarnation INTEGER NOT NULL DEFAULT 0,
    title               TEXT,
    kind                TEXT NOT NULL,
    incognito           INTEGER NOT NULL CHECK (incognito IN (0, 1)),
    created_at_ms       INTEGER NOT NULL,
    updated_at_ms       INTEGER NOT NULL,           -- last used: the last write, or the newest event of an import
    stored_at_ms        INTEGER NOT NULL            -- last write of any kind; never before stored_ms of any of its events
) STRICT;

CREATE INDEX sessions_by_use ON sessions (updated_at_ms DESC, session_key);
CREATE INDEX sessions_by_store ON sessions (stored_at_ms);
CREATE INDEX sessions_incognito ON sessions (session_no) WHERE incognito = 1;
CREATE INDEX sessions_demoted ON sessions (session_no) WHERE kind IN ('background', 'cron');

CREATE TABLE transcripts (
    transcript_no INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id    TEXT NOT NULL UNIQUE,
    session_no    INTEGER NOT NULL,
    leaf_id       TEXT,                             -- id of the event the next one hangs on; NULL: the branch is empty
    last_seq      INTEGER NOT NULL DEFAULT 0,       -- highest seq whose place in the tree this program has worked out
    generation    INTEGER NOT NULL DEFAULT 0,       -- how often the leaf moved other than by an append to it
    moves         INTEGER NOT NULL DEFAULT 0        -- counts all that makes a reconcile's snapshot stale: moves and foreign writes
) STRICT;

CREATE INDEX transcripts_by_session ON transcripts (session_no);

-- The payload is the event as it was sent and decides; the other columns follow from it and from the events before it.
CREATE TABLE events (
    event_no      INTEGER PRIMARY KEY,
    transcript_no INTEGER NOT NULL,
    seq           INTEGER NOT NULL,                 -- 1, 2, 3 ... in the order of storing
    event_id      TEXT,                             -- NULL: not a node of the tree
    kind          TEXT NOT NULL DEFAULT '',         -- the payload's type
    role          TEXT,
    time_ms       INTEGER NOT NULL DEFAULT 0,
    stored_ms     INTEGER NOT NULL DEFAULT 0,
    parent_seq    INTEGER,                          -- 0: a root; NULL: not a node
    jump_seq      INTEGER NOT NULL DEFAULT 0,       -- an ancestor further up, so that any ancestor is found in O(log depth) steps
    depth         INTEGER NOT NULL DEFAULT 0,       -- 1 for a root: the position on every branch that holds the event
    reset_depth   INTEGER NOT NULL DEFAULT 0,       -- depth of the nearest reset at or above; 0: none
    said          INTEGER NOT NULL DEFAULT 0,       -- messages with text on the path from the root to here
    payload       TEXT NOT NULL,
    UNIQUE (transcript_no, seq)
) STRICT;

CREATE UNIQUE INDEX events_by_id ON events (transcript_no, event_id) WHERE event_id IS NOT NULL;

CREATE TABLE tombstones (
    session_id          TEXT PRIMARY KEY,           -- one row for every session id the key had
    session_key         TEXT NOT NULL,
    incarnation         INTEGER NOT NULL,
    spawned_by          TEXT,
    spawned_incarnation INTEGER NOT NULL DEFAULT 0,
    deleted_at_ms       INTEGER NOT NULL
) STRICT;

CREATE INDEX tombstones_by_key ON tombstones (session_key, incarnation);

CREATE TABLE idempotency (
    session_no INTEGER NOT NULL,
    key        TEXT NOT NULL,
    body_hash  BLOB NOT NULL,
    answer     TEXT NOT NULL,
    stored_ms  INTEGER NOT NULL,
    PRIMARY KEY (session_no, key)
) STRICT, WITHOUT ROWID;

------------------------------------------------------------------------------------------------------------- projection

-- One row a message with text on the active branch. message_no is its row in message_index too: time ms * 2^18 + a counter, so that
-- descending row numbers are newest first.
CREATE TABLE messages (
    message_no    INTEGER PRIMARY KEY,
    transcript_no INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    position      INTEGER NOT NULL,                 -- the event's depth
    generation    INTEGER NOT NULL,
    session_no    INTEGER NOT NULL,
    stored_ms     INTEGER NOT NULL,
    role          TEXT NOT NULL CHECK (role IN ('user', 'assistant'))
) STRICT;

CREATE INDEX messages_by_position ON messages (transcript_no, position, seq);

-- Rows of the generations from_generation to to_generation beyond position mark are no longer on the active branch. A settled
-- transcript has no row here. Marks rise with the generations, for each move lowers all the marks before it.
CREATE TABLE marks (
    transcript_no   INTEGER NOT NULL,
    from_generation INTEGER NOT NULL,
    to_generation   INTEGER NOT NULL,
    mark            INTEGER NOT NULL,
    PRIMARY KEY (transcript_no, to_generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE index_state (
    transcript_no    INTEGER PRIMARY KEY,
    session_no       INTEGER NOT NULL,
    pending_reason   TEXT CHECK (pending_reason IN ('imported', 'rewound', 'edited', 'outdated', 'forced')),
    pending_since_ms INTEGER NOT NULL DEFAULT 0,
    indexed          INTEGER NOT NULL CHECK (indexed IN (0, 1)),     -- 0: never indexed, so that an append is not indexed either
    whole_to         INTEGER,                                        -- rows up to this position equal the branch; NULL: all do
    recheck          INTEGER NOT NULL DEFAULT 0 CHECK (recheck IN (0, 1)),        -- 1: rows beyond whole_to may hold other text
    -- from outside: 1: events were added at the end, 2: changed, 3: put where others are or were
    foreign_writes   INTEGER NOT NULL DEFAULT 0 CHECK (foreign_writes BETWEEN 0 AND 3),
    parked           INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0, 1)),
    attempts         INTEGER NOT NULL DEFAULT 0,
    retry_at_ms      INTEGER NOT NULL DEFAULT 0,
    error            TEXT,
    lease_owner      TEXT,
    lease_until_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX index_state_owed ON index_state (session_no, parked) WHERE pending_reason IS NOT NULL;
CREATE INDEX index_state_owes_text ON index_state (session_no)
    WHERE pending_reason IN ('imported', 'rewound', 'edited') AND parked = 0;
CREATE INDEX index_state_rechecked ON index_state (transcript_no) WHERE recheck = 1 AND pending_reason IS NOT NULL;

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- A caller's tree, and which sessions in it may be found, are read again only when this mark is another one.
INSERT INTO meta (name, value) VALUES ('lineage mark', hex(randomblob(8)));

CREATE TRIGGER session_added AFTER INSERT ON sessions
BEGIN
    UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'lineage mark';
END;

CREATE TRIGGER session_removed AFTER DELETE ON sessions
BEGIN
    UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'lineage mark';
END;

CREATE TRIGGER session_seen_otherwise AFTER UPDATE OF session_no, session_key, incarnation, spawned_by, spawned_incarnation, incognito ON sessions
WHEN NEW.session_no IS NOT OLD.session_no OR NEW.incognito IS NOT OLD.incognito
     OR NEW.session_key IS NOT OLD.session_key OR NEW.incarnation IS NOT OLD.incarnation
     OR NEW.spawned_by IS NOT OLD.spawned_by OR NEW.spawned_incarnation IS NOT OLD.spawned_incarnation
BEGIN
    UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'lineage mark';
END;

CREATE TRIGGER tombstone_added AFTER INSERT ON tombstones
BEGIN
    UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'lineage mark';
END;

CREATE TRIGGER tombstone_changed AFTER UPDATE ON tombstones
BEGIN
    UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'lineage mark';
END;

CREATE TRIGGER tombstone_removed AFTER DELETE ON tombstones
BEGIN
    UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'lineage mark';
END;

--------------------------------------------------------------------------------------------------- writes from outside

-- Another program may write these tables with plain SQL; its writes are noticed here, by nothing but plain SQL. The write verbs do
-- not set them off: an insert of theirs raises last_seq first, an update of theirs lowers it meanwhile, a move of theirs raises moves,
-- and a delete takes the transcript first.

CREATE TRIGGER events_inserted AFTER INSERT ON events
WHEN NEW.seq > (SELECT last_seq FROM transcripts WHERE transcript_no = NEW.transcript_no)
     OR EXISTS (SELECT 1 FROM events AS later WHERE later.transcript_no = NEW.transcript_no AND later.seq > NEW.seq)   -- into a gap
BEGIN
    UPDATE transcripts SET moves = moves + 1 WHERE transcript_no = NEW.transcript_no;
    UPDATE index_state
    SET pending_reason = 'edited',
        foreign_writes = max(foreign_writes, CASE WHEN NEW.seq > (SELECT last_seq FROM transcripts AS t WHERE t.transcript_no = NEW.transcript_no) THEN 1 ELSE 3 END),
        whole_to = coalesce(whole_to, (SELECT max(depth) FROM events AS e
            WHERE e.transcript_no = NEW.transcript_no AND e.event_id = (SELECT leaf_id FROM transcripts AS t WHERE t.transcript_no = NEW.transcript_no)), 0),
        pending_since_ms = CASE WHEN pending_reason IS NULL THEN CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) ELSE pending_since_ms END, parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
    WHERE transcript_no = NEW.transcript_no;
END;

-- INSERT OR REPLACE deletes without setting off a delete trigger.
CREATE TRIGGER events_replaced BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events AS e WHERE e.transcript_no = NEW.transcript_no AND e.seq = NEW.seq)
     OR EXISTS (SELECT 1 FROM events AS e WHERE e.transcript_no = NEW.transcript_no AND e.event_id = NEW.event_id)
     OR EXISTS (SELECT 1 FROM events AS e WHERE e.event_no = NEW.event_no)
BEGIN
    DELETE FROM marks WHERE transcript_no IN (NEW.transcript_no, (SELECT e.transcript_no FROM events AS e WHERE e.event_no = NEW.event_no));
    INSERT INTO marks (transcript_no, from_generation, to_generation, mark)
    SELECT t.transcript_no, 0, t.generation, 0
    FROM transcripts AS t WHERE t.transcript_no IN (NEW.transcript_no, (SELECT e.transcript_no FROM events AS e WHERE e.event_no = NEW.event_no));
    UPDATE transcripts SET moves = moves + 1, generation = generation + 1
    WHERE transcript_no IN (NEW.transcript_no, (SELECT e.transcript_no FROM events AS e WHERE e.event_no = NEW.event_no));
    UPDATE index_state
    SET pending_reason = 'edited', foreign_writes = 3, recheck = 1, whole_to = 0,
        pending_since_ms = CASE WHEN pending_reason IS NULL THEN CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) ELSE pending_since_ms END, parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
    WHERE transcript_no IN (NEW.transcript_no, (SELECT e.transcript_no FROM events AS e WHERE e.event_no = NEW.event_no));
END;

CREATE TRIGGER events_updated AFTER UPDATE OF transcript_no, seq, event_id, payload ON events
WHEN OLD.seq <= (SELECT last_seq FROM transcripts WHERE transcript_no = OLD.transcript_no)
BEGIN
    INSERT INTO marks (transcript_no, from_generation, to_generation, mark)
    SELECT t.transcript_no,
           coalesce((SELECT min(k.from_generation) FROM marks AS k WHERE k.transcript_no = t.transcript_no AND k.mark >= max(OLD.depth - 1, 0)),
                    (SELECT max(k.to_generation) + 1 FROM marks AS k WHERE k.transcript_no = t.transcript_no), 0),
           t.generation, max(OLD.depth - 1, 0)
    FROM transcripts AS t WHERE t.transcript_no IN (OLD.transcript_no, NEW.transcript_no);
    DELETE FROM marks
    WHERE transcript_no IN (OLD.transcript_no, NEW.transcript_no) AND mark >= max(OLD.depth - 1, 0)
      AND to_generation < (SELECT generation FROM transcripts AS t WHERE t.transcript_no = marks.transcript_no);
    UPDATE transcripts SET moves = moves + 1, generation = generation + 1 WHERE transcript_no IN (OLD.transcript_no, NEW.transcript_no);
    UPDATE index_state
    SET pending_reason = 'edited', foreign_writes = max(foreign_writes, 2), recheck = 1, whole_to = min(coalesce(whole_to, OLD.depth), max(OLD.depth - 1, 0)),
        pending_since_ms = CASE WHEN pending_reason IS NULL THEN CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) ELSE pending_since_ms END, parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
    WHERE transcript_no IN (OLD.transcript_no, NEW.transcript_no);
END;

-- An update of more than the text may hang the event elsewhere: then no position of the branch is known to be right, and from now on
-- the payload alone says where the event hangs (jump_seq -1). A payload that became unreadable keeps its place.
CREATE TRIGGER events_reshaped AFTER UPDATE OF transcript_no, seq, event_id, payload ON events
WHEN OLD.seq <= (SELECT last_seq FROM transcripts WHERE transcript_no = OLD.transcript_no)
     AND CASE
         WHEN NEW.transcript_no IS NOT OLD.transcript_no OR NEW.seq IS NOT OLD.seq OR NEW.event_id IS NOT OLD.event_id THEN 1
         WHEN NOT json_valid(NEW.payload) THEN 0
         WHEN NOT json_valid(OLD.payload) THEN 1
         ELSE json_extract(NEW.payload, '$.parentId') IS NOT json_extract(OLD.payload, '$.parentId')
              OR json_type(NEW.payload, '$.parentId') IS NOT json_type(OLD.payload, '$.parentId')   -- null is not the same as nothing
              OR json_extract(NEW.payload, '$.id') IS NOT json_extract(OLD.payload, '$.id')
              OR json_extract(NEW.payload, '$.type') IS NOT json_extract(OLD.payload, '$.type')
     END
BEGIN
    DELETE FROM marks WHERE transcript_no IN (OLD.transcript_no, NEW.transcript_no);
    INSERT INTO marks (transcript_no, from_generation, to_generation, mark)
    SELECT t.transcript_no, 0, t.generation, 0 FROM transcripts AS t WHERE t.transcript_no IN (OLD.transcript_no, NEW.transcript_no);
    UPDATE transcripts SET moves = moves + 1, generation = generation + 1 WHERE transcript_no IN (OLD.transcript_no, NEW.transcript_no);
    UPDATE index_state
    SET pending_reason = 'edited', foreign_writes = max(foreign_writes, 2), recheck = 1, whole_to = 0,
        pending_since_ms = CASE WHEN pending_reason IS NULL THEN CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) ELSE pending_since_ms END, parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
    WHERE transcript_no IN (OLD.transcript_no, NEW.transcript_no);
    UPDATE events SET jump_seq = -1 WHERE event_no = NEW.event_no;
END;

-- What hangs below an event that is gone begins a branch of its own, so that no position is known to be right. Nothing on the active
-- branch hangs below its leaf: with the leaf gone the branch ends at the leaf's parent, if that is there.
CREATE TRIGGER events_deleted AFTER DELETE ON events
WHEN EXISTS (SELECT 1 FROM transcripts WHERE transcript_no = OLD.transcript_no)
BEGIN
    DELETE FROM marks
    WHERE transcript_no = OLD.transcript_no
      AND mark >= (SELECT CASE WHEN t.leaf_id = OLD.event_id THEN max(OLD.depth - 1, 0) ELSE 0 END FROM transcripts AS t WHERE t.transcript_no = OLD.transcript_no);
    INSERT INTO marks (transcript_no, from_generation, to_generation, mark)
    SELECT t.transcript_no, coalesce((SELECT max(k.to_generation) + 1 FROM marks AS k WHERE k.transcript_no = t.transcript_no), 0), t.generation,
           CASE WHEN t.leaf_id = OLD.event_id THEN max(OLD.depth - 1, 0) ELSE 0 END
    FROM transcripts AS t WHERE t.transcript_no = OLD.transcript_no;
    UPDATE index_state
    SET pending_reason = 'edited', foreign_writes = max(foreign_writes, 2), recheck = 1,
        whole_to = (SELECT CASE WHEN t.leaf_id = OLD.event_id THEN min(coalesce(whole_to, OLD.depth), max(OLD.depth - 1, 0)) ELSE 0 END
                    FROM transcripts AS t WHERE t.transcript_no = OLD.transcript_no),
        pending_since_ms = CASE WHEN pending_reason IS NULL THEN CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) ELSE pending_since_ms END, parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
    WHERE transcript_no = OLD.transcript_no;
    UPDATE transcripts
    SET moves = moves + 1, generation = generation + 1,
        last_seq = CASE
            WHEN last_seq <> OLD.seq THEN last_seq
            ELSE coalesce((SELECT max(e.seq) FROM events AS e WHERE e.transcript_no = OLD.transcript_no AND e.seq < OLD.seq), 0)
        END,
        leaf_id = CASE
            WHEN leaf_id IS NOT OLD.event_id THEN leaf_id
            WHEN OLD.parent_seq = 0 THEN NULL
            ELSE coalesce((SELECT e.event_id FROM events AS e WHERE e.transcript_no = OLD.transcript_no AND e.seq = OLD.parent_seq), leaf_id)
        END
    WHERE transcript_no = OLD.transcript_no;
END;

CREATE TRIGGER leaf_moved AFTER UPDATE OF leaf_id ON transcripts
WHEN NEW.leaf_id IS NOT OLD.leaf_id AND NEW.moves = OLD.moves AND NEW.last_seq = OLD.last_seq
BEGIN
    DELETE FROM marks WHERE transcript_no = NEW.transcript_no;
    INSERT INTO marks (transcript_no, from_generation, to_generation, mark) VALUES (NEW.transcript_no, 0, NEW.generation, 0);
    UPDATE transcripts SET moves = moves + 1, generation = generation + 1 WHERE transcript_no = NEW.transcript_no;
    UPDATE index_state
    SET pending_reason = CASE WHEN pending_reason IN ('imported', 'edited') THEN pending_reason ELSE 'rewound' END, whole_to = 0,
        pending_since_ms = CASE WHEN pending_reason IS NULL THEN CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) ELSE pending_since_ms END, parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
    WHERE transcript_no = NEW.transcript_no;
END;
