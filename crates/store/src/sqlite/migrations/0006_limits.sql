-- What projects and tokens may use: a token's own rate, and what a project has spent on a day.
ALTER TABLE tokens ADD COLUMN calls_per_minute INTEGER;

CREATE TABLE spending (
    project_id BLOB NOT NULL REFERENCES projects (id),
    -- Since 1970-01-01, UTC.
    day INTEGER NOT NULL,
    nano_usd INTEGER NOT NULL,
    PRIMARY KEY (project_id, day)
) STRICT, WITHOUT ROWID;
