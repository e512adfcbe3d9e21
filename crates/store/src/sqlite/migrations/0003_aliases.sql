-- `fallback_models` is a JSON array of names, in the order in which they are tried.
CREATE TABLE aliases (
    id              BLOB NOT NULL PRIMARY KEY,
    project_id      BLOB NOT NULL,
    name            TEXT NOT NULL,
    fallback_models TEXT NOT NULL,
    description     TEXT,
    version         INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;
