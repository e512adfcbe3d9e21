-- The newest deletions of each dataset, each at the version that it made.
CREATE TABLE deletions (
    dataset_id BLOB NOT NULL,
    version    INTEGER NOT NULL,
    entry_id   BLOB NOT NULL,
    PRIMARY KEY (dataset_id, version)
) STRICT, WITHOUT ROWID;

-- The version that the newest deletion made that is not among them, 0 before any. None was kept so far.
ALTER TABLE datasets RENAME COLUMN last_deletion TO forgotten_deletion;
