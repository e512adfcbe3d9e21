-- Ids are 16 bytes, times microseconds since 1970, JSON its compact text. Ids and times are made above the store.

CREATE TABLE projects (
    id         BLOB NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    id         TEXT NOT NULL PRIMARY KEY,
    hash       BLOB NOT NULL UNIQUE,
    project_id BLOB NOT NULL,
    label      TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE TABLE functions (
    id          BLOB NOT NULL PRIMARY KEY,
    project_id  BLOB NOT NULL,
    name        TEXT NOT NULL,
    description TEXT,
    dataset_id  BLOB NOT NULL,
    revision_id BLOB NOT NULL,
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;

-- `number` is the function's version that brought the revision: it puts revisions in one line, whatever the clock did.
CREATE TABLE revisions (
    id            BLOB NOT NULL PRIMARY KEY,
    function_id   BLOB NOT NULL REFERENCES functions (id) ON DELETE CASCADE,
    number        INTEGER NOT NULL,
    instructions  TEXT NOT NULL,
    input_schema  TEXT,
    output_schema TEXT,
    model         TEXT,
    configuration TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    UNIQUE (function_id, number)
) STRICT;

-- A dataset outlives its function, hence no reference.
CREATE TABLE datasets (
    id          BLOB NOT NULL PRIMARY KEY,
    project_id  BLOB NOT NULL,
    function_id BLOB NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE custom_models (
    id         BLOB NOT NULL PRIMARY KEY,
    project_id BLOB NOT NULL,
    name       TEXT NOT NULL,
    identifier TEXT NOT NULL,
    provider   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    extra      TEXT NOT NULL,
    sealed_key BLOB,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;

CREATE INDEX custom_models_by_identifier ON custom_models (project_id, identifier);

-- Rows of some kilobytes: a table with row numbers and one narrow index is quicker than a clustered key.
CREATE TABLE spans (
    project_id BLOB NOT NULL,
    id         BLOB NOT NULL,
    trace_id   BLOB NOT NULL,
    parent_id  BLOB,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    start_time INTEGER NOT NULL,
    end_time   INTEGER,
    error      TEXT,
    meta       TEXT NOT NULL,
    input      TEXT,
    output     TEXT,
    UNIQUE (project_id, id)
) STRICT;

-- One row that is written when nothing else is: to sync the log, and to try whether writes go through.
CREATE TABLE mark (
    count INTEGER NOT NULL
) STRICT;

INSERT INTO mark (count) VALUES (0);
