-- What a step lacks is NULL, whoever recorded it.
ALTER TABLE spans ALTER COLUMN kind DROP NOT NULL;
ALTER TABLE spans ALTER COLUMN start_time DROP NOT NULL;
ALTER TABLE spans ADD COLUMN score INTEGER;

-- 1 for a span that was begun and not closed. A client's span without an end is not open.
ALTER TABLE spans ADD COLUMN open INTEGER NOT NULL DEFAULT 0;

CREATE INDEX spans_open ON spans (open) WHERE open = 1;

-- In the order in which a tree is read; the roots, which are most, cost nothing.
CREATE INDEX spans_by_parent ON spans (project_id, parent_id, start_time, id) WHERE parent_id IS NOT NULL;

-- What is added to a span after it was recorded. `changed` has a bit for each column that is the client's word, NULL
-- included: 1 name, 2 kind, 4 start_time, 8 end_time, 16 error, 32 input, 64 output, 128 score. `meta` holds the
-- members that the client laid over the recorded ones.
CREATE TABLE notes (
    project_id       BLOB NOT NULL,
    span_id          BLOB NOT NULL,
    changed          INTEGER NOT NULL DEFAULT 0,
    observed_score   INTEGER,
    observations     TEXT,
    feedback_score   REAL,
    feedback_comment TEXT,
    name             TEXT,
    kind             TEXT,
    start_time       INTEGER,
    end_time         INTEGER,
    score            INTEGER,
    error            TEXT,
    meta             TEXT,
    input            TEXT,
    output           TEXT,
    UNIQUE (project_id, span_id)
) STRICT;

-- `number` puts metrics in one line, whatever the clock did.
CREATE TABLE metrics (
    number     INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    project_id BLOB NOT NULL,
    span_id    BLOB NOT NULL,
    dimension  TEXT NOT NULL,
    value      REAL NOT NULL,
    comment    TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX metrics_by_span ON metrics (project_id, span_id);

-- `version` counts the changes of entries; `last_deletion` is the version that the latest deletion made, 0 before any.
ALTER TABLE datasets ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE datasets ADD COLUMN last_deletion INTEGER NOT NULL DEFAULT 0;

-- `number` is the dataset's version that brought the entry, `version` the one that changed it last. `vector` is the
-- input's, as 32-bit floats with the low byte first, by the model of that name.
CREATE TABLE entries (
    id           BLOB NOT NULL PRIMARY KEY,
    dataset_id   BLOB NOT NULL,
    number       INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    comment      TEXT,
    input        TEXT NOT NULL,
    output       TEXT NOT NULL,
    expected     TEXT,
    vector_model TEXT,
    vector       BLOB,
    UNIQUE (dataset_id, number),
    UNIQUE (dataset_id, version)
) STRICT;

-- Finds the revisions that may be equal to a definition. NULL in those that were made before there were digests.
ALTER TABLE revisions ADD COLUMN digest INTEGER;

CREATE INDEX revisions_by_digest ON revisions (function_id, digest, number);
