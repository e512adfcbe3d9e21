-- A long text stands as a zstd frame in the column beside its own, which is NULL then.
ALTER TABLE spans ADD COLUMN packed_input BLOB;
ALTER TABLE spans ADD COLUMN packed_output BLOB;
ALTER TABLE notes ADD COLUMN packed_input BLOB;
ALTER TABLE notes ADD COLUMN packed_output BLOB;

-- The oldest of a project. What is open is not among them: it is not forgotten.
CREATE INDEX spans_by_age ON spans (project_id, start_time) WHERE open = 0;

-- What the spans of a project take, with all that was added to them: the texts as they are kept, and by estimate what a
-- row takes beside them, in its table and in the indexes.
CREATE TABLE span_sums (
    project_id BLOB NOT NULL PRIMARY KEY,
    bytes      INTEGER NOT NULL
) STRICT;

INSERT INTO span_sums (project_id, bytes)
SELECT project_id, sum(bytes) FROM (
    SELECT project_id,
           256 + octet_length(name) + octet_length(meta) + ifnull(octet_length(error), 0) + ifnull(octet_length(input), 0)
               + ifnull(octet_length(output), 0) AS bytes
    FROM spans
    UNION ALL
    SELECT project_id,
           128 + ifnull(octet_length(observations), 0) + ifnull(octet_length(feedback_comment), 0)
               + ifnull(octet_length(name), 0) + ifnull(octet_length(meta), 0) + ifnull(octet_length(error), 0)
               + ifnull(octet_length(input), 0) + ifnull(octet_length(output), 0)
    FROM notes
    UNION ALL
    SELECT project_id, 192 + octet_length(dimension) + ifnull(octet_length(comment), 0) FROM metrics
)
GROUP BY project_id;

CREATE TRIGGER span_sums_span_in AFTER INSERT ON spans BEGIN
    INSERT INTO span_sums (project_id, bytes) VALUES (
        NEW.project_id,
        256 + octet_length(NEW.name) + octet_length(NEW.meta) + ifnull(octet_length(NEW.error), 0)
            + ifnull(octet_length(NEW.input), 0) + ifnull(octet_length(NEW.output), 0)
            + ifnull(octet_length(NEW.packed_input), 0) + ifnull(octet_length(NEW.packed_output), 0)
    ) ON CONFLICT (project_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER span_sums_span_out AFTER DELETE ON spans BEGIN
    UPDATE span_sums SET bytes = bytes - (
        256 + octet_length(OLD.name) + octet_length(OLD.meta) + ifnull(octet_length(OLD.error), 0)
            + ifnull(octet_length(OLD.input), 0) + ifnull(octet_length(OLD.output), 0)
            + ifnull(octet_length(OLD.packed_input), 0) + ifnull(octet_length(OLD.packed_output), 0)
    ) WHERE project_id = OLD.project_id;
END;

CREATE TRIGGER span_sums_span_changed AFTER UPDATE ON spans BEGIN
    UPDATE span_sums SET bytes = bytes
        + octet_length(NEW.name) + octet_length(NEW.meta) + ifnull(octet_length(NEW.error), 0)
            + ifnull(octet_length(NEW.input), 0) + ifnull(octet_length(NEW.output), 0)
            + ifnull(octet_length(NEW.packed_input), 0) + ifnull(octet_length(NEW.packed_output), 0)
        - octet_length(OLD.name) - octet_length(OLD.meta) - ifnull(octet_length(OLD.error), 0)
            - ifnull(octet_length(OLD.input), 0) - ifnull(octet_length(OLD.output), 0)
            - ifnull(octet_length(OLD.packed_input), 0) - ifnull(octet_length(OLD.packed_output), 0)
    WHERE project_id = NEW.project_id;
END;

CREATE TRIGGER span_sums_note_in AFTER INSERT ON notes BEGIN
    INSERT INTO span_sums (project_id, bytes) VALUES (
        NEW.project_id,
        128 + ifnull(octet_length(NEW.observations), 0) + ifnull(octet_length(NEW.feedback_comment), 0)
            + ifnull(octet_length(NEW.name), 0) + ifnull(octet_length(NEW.meta), 0) + ifnull(octet_length(NEW.error), 0)
            + ifnull(octet_length(NEW.input), 0) + ifnull(octet_length(NEW.output), 0)
            + ifnull(octet_length(NEW.packed_input), 0) + ifnull(octet_length(NEW.packed_output), 0)
    ) ON CONFLICT (project_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER span_sums_note_out AFTER DELETE ON notes BEGIN
    UPDATE span_sums SET bytes = bytes - (
        128 + ifnull(octet_length(OLD.observations), 0) + ifnull(octet_length(OLD.feedback_comment), 0)
            + ifnull(octet_length(OLD.name), 0) + ifnull(octet_length(OLD.meta), 0) + ifnull(octet_length(OLD.error), 0)
            + ifnull(octet_length(OLD.input), 0) + ifnull(octet_length(OLD.output), 0)
            + ifnull(octet_length(OLD.packed_input), 0) + ifnull(octet_length(OLD.packed_output), 0)
    ) WHERE project_id = OLD.project_id;
END;

CREATE TRIGGER span_sums_note_changed AFTER UPDATE ON notes BEGIN
    UPDATE span_sums SET bytes = bytes
        + ifnull(octet_length(NEW.observations), 0) + ifnull(octet_length(NEW.feedback_comment), 0)
            + ifnull(octet_length(NEW.name), 0) + ifnull(octet_length(NEW.meta), 0) + ifnull(octet_length(NEW.error), 0)
            + ifnull(octet_length(NEW.input), 0) + ifnull(octet_length(NEW.output), 0)
            + ifnull(octet_length(NEW.packed_input), 0) + ifnull(octet_length(NEW.packed_output), 0)
        - ifnull(octet_length(OLD.observations), 0) - ifnull(octet_length(OLD.feedback_comment), 0)
            - ifnull(octet_length(OLD.name), 0) - ifnull(octet_length(OLD.meta), 0) - ifnull(octet_length(OLD.error), 0)
            - ifnull(octet_length(OLD.input), 0) - ifnull(octet_length(OLD.output), 0)
            - ifnull(octet_length(OLD.packed_input), 0) - ifnull(octet_length(OLD.packed_output), 0)
    WHERE project_id = NEW.project_id;
END;

CREATE TRIGGER span_sums_metric_in AFTER INSERT ON metrics BEGIN
    INSERT INTO span_sums (project_id, bytes)
    VALUES (NEW.project_id, 192 + octet_length(NEW.dimension) + ifnull(octet_length(NEW.comment), 0))
    ON CONFLICT (project_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER span_sums_metric_out AFTER DELETE ON metrics BEGIN
    UPDATE span_sums SET bytes = bytes - (192 + octet_length(OLD.dimension) + ifnull(octet_length(OLD.comment), 0))
    WHERE project_id = OLD.project_id;
END;

CREATE TRIGGER span_sums_metric_changed AFTER UPDATE ON metrics BEGIN
    UPDATE span_sums SET bytes = bytes
        + octet_length(NEW.dimension) + ifnull(octet_length(NEW.comment), 0)
        - octet_length(OLD.dimension) - ifnull(octet_length(OLD.comment), 0)
    WHERE project_id = NEW.project_id;
END;
