-- The queue's file: Huey's message tables and our ledger side by side, so that a job's record and its message are one commit.

-- Huey's own table of messages, as huey.storage.SqliteStorage(strict_fifo=True) makes it (a test holds the two alike). Its tables
-- for results, pauses and locks are not there, for the ledger has these.
CREATE TABLE task (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- never used twice, so that a job can tell its message from a later one
    queue TEXT NOT NULL,
    data BLOB NOT NULL,
    priority REAL NOT NULL DEFAULT 0.0
);
CREATE INDEX task_queue_priority_id ON task (queue, priority DESC, id);

-- The ledger: one row a job, from its order to its end.
CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY, -- begins with the time of its order, so that the newest is the greatest
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'retrying', 'failed', 'cancelled')),
    task TEXT NOT NULL,
    queue TEXT NOT NULL CHECK (queue IN ('interactive', 'bulk')),
    priority INTEGER NOT NULL DEFAULT 0,
    agent_id TEXT,
    session_key TEXT,
    batch_id TEXT,                       -- the batch that made it; others may have joined (batch_jobs)
    message INTEGER,                     -- task.id of its message while it is queued
    attempts INTEGER NOT NULL DEFAULT 0, -- runs begun
    again INTEGER NOT NULL DEFAULT 0,    -- 1: asked for once more while it ran
    stop INTEGER NOT NULL DEFAULT 0,     -- 1: an operator asked it to end
    error TEXT,                          -- why it failed or waits; never a transcript's text
    queued_at_ms INTEGER NOT NULL,
    due_at_ms INTEGER,                   -- while retrying: not before
    started_at_ms INTEGER,               -- the last run's
    ended_at_ms INTEGER,
    worker TEXT                          -- who runs it, or ran it last
) STRICT, WITHOUT ROWID;
-- At most one live job of a kind for an agent's session.
CREATE UNIQUE INDEX jobs_live ON jobs (task, agent_id, ifnull(session_key, '')) WHERE state IN ('queued', 'running', 'retrying');
CREATE INDEX jobs_state ON jobs (state, id);
-- Each of an operator's filters has an index that gives the newest first.
CREATE INDEX jobs_task ON jobs (task, id);
CREATE INDEX jobs_agent ON jobs (agent_id, id);
CREATE INDEX jobs_session ON jobs (session_key, id);
CREATE INDEX jobs_ended ON jobs (ended_at_ms, state, started_at_ms, queued_at_ms) WHERE ended_at_ms IS NOT NULL;
CREATE INDEX jobs_errors ON jobs (id) WHERE error IS NOT NULL;
CREATE INDEX jobs_due ON jobs (due_at_ms) WHERE state = 'retrying';

-- What is out of the ordinary in a job's life; queued, started and ended stand in its own row.
CREATE TABLE job_events (
    job_id TEXT NOT NULL,
    number INTEGER NOT NULL, -- 1, 2, 3 … within the job
    at_ms INTEGER NOT NULL,
    event TEXT NOT NULL,
    worker TEXT,
    note TEXT,
    PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

-- A batch is one order to reindex. Its counts follow its jobs by the triggers below.
CREATE TABLE batches (
    id TEXT NOT NULL PRIMARY KEY,
    scope TEXT NOT NULL,                  -- what was asked for, in words that are equal when the orders are
    created_at_ms INTEGER NOT NULL,
    touched_at_ms INTEGER NOT NULL,       -- while it is being ordered: last sign of life of who orders it
    ordered INTEGER NOT NULL DEFAULT 0,   -- 1: all its jobs are in the queue
    sessions INTEGER NOT NULL DEFAULT 0,
    open INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    ended_at_ms INTEGER
) STRICT, WITHOUT ROWID;
-- The same order is not carried out twice at a time.
CREATE UNIQUE INDEX batches_live ON batches (scope) WHERE ended_at_ms IS NULL;
CREATE TABLE batch_jobs (
    job_id TEXT NOT NULL,
    batch_id TEXT NOT NULL,
    PRIMARY KEY (job_id, batch_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_jobs_batch ON batch_jobs (batch_id, job_id);

CREATE TRIGGER batch_joined AFTER INSERT ON batch_jobs BEGIN
    UPDATE batches SET sessions = sessions + 1, open = open + 1 WHERE id = new.batch_id; -- only live jobs are joined
END;
CREATE TRIGGER batch_counted AFTER UPDATE OF state ON jobs
WHEN old.state IN ('queued', 'running', 'retrying') AND new.state IN ('done', 'failed', 'cancelled')
BEGIN
    UPDATE batches
    SET open = open - 1,
        done = done + (new.state = 'done'),
        failed = failed + (new.state = 'failed'),
        cancelled = cancelled + (new.state = 'cancelled'),
        ended_at_ms = CASE WHEN ordered AND open = 1 THEN new.ended_at_ms END
    WHERE id IN (SELECT batch_id FROM batch_jobs WHERE job_id = new.id) AND ended_at_ms IS NULL;
    INSERT INTO outcomes (task, state, jobs) VALUES (new.task, new.state, 1)
    ON CONFLICT (task, state) DO UPDATE SET jobs = jobs + 1;
END;
-- A failed job that runs again counts as open again while its batch is.
CREATE TRIGGER batch_reopened AFTER UPDATE OF state ON jobs
WHEN old.state IN ('failed', 'cancelled') AND new.state IN ('queued', 'running', 'retrying')
BEGIN
    UPDATE batches
    SET open = open + 1, failed = failed - (old.state = 'failed'), cancelled = cancelled - (old.state = 'cancelled')
    WHERE id IN (SELECT batch_id FROM batch_jobs WHERE job_id = new.id) AND ended_at_ms IS NULL;
END;
CREATE TRIGGER job_forgotten AFTER DELETE ON jobs BEGIN
    DELETE FROM batch_jobs WHERE job_id = old.id;
    DELETE FROM job_events WHERE job_id = old.id;
END;

-- How many jobs ever ended, and how long they waited and ran: what pruning must not forget.
CREATE TABLE outcomes (
    task TEXT NOT NULL,
    state TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (task, state)
) STRICT, WITHOUT ROWID;
CREATE TABLE timings (
    kind TEXT NOT NULL CHECK (kind IN ('wait', 'run')),
    upper_ms INTEGER NOT NULL, -- a histogram's bucket: at most so long
    jobs INTEGER NOT NULL,
    total_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, upper_ms)
) STRICT, WITHOUT ROWID;

-- One row a worker thread; a heartbeat says that it lives, progress that it gets on.
CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    queue TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    heartbeat_at_ms INTEGER NOT NULL,
    progress_at_ms INTEGER NOT NULL,
    job TEXT
) STRICT, WITHOUT ROWID;

-- Periodic work: whoever moves next_at_ms on has the run.
CREATE TABLE schedules (
    name TEXT NOT NULL PRIMARY KEY,
    rule TEXT NOT NULL,       -- "every 10 s", or a crontab line with its zone; a changed rule starts afresh
    next_at_ms INTEGER NOT NULL,
    running_by TEXT,          -- the process that has the run
    running_since_ms INTEGER,
    last_at_ms INTEGER,
    last_ms INTEGER,          -- how long the last run took
    last_result TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
