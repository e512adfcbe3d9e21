-- 1 for a span that a client gave: its word, and none of ours. Before this, the two could not be told apart.
ALTER TABLE spans ADD COLUMN given INTEGER NOT NULL DEFAULT 0;
