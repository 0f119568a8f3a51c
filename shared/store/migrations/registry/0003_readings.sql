-- What was read of other programs' transcript files, so that one that has not changed is not read again. A row that is lost costs a
-- reading and nothing else; none holds text of a transcript.
CREATE TABLE readings (
    path     BLOB NOT NULL,           -- absolute, as the file system has it
    format   TEXT NOT NULL,
    agent_id TEXT NOT NULL,           -- whose sessions they become where the file names no agent
    reading  TEXT NOT NULL,           -- JSON; worker/readings.py says of what
    PRIMARY KEY (path, format, agent_id)
) STRICT, WITHOUT ROWID;
