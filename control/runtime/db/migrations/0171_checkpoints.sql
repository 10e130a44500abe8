-- Log 65 is the log of heads: an RFC 6962 tree whose entries say which size and root each usage log had. A checkpoint signs
-- its size and root, and with them every head in it.
ALTER TABLE usage_log_heads DROP CONSTRAINT usage_log_heads_log_check;
ALTER TABLE usage_log_heads ADD CHECK (log BETWEEN 0 AND 65);
INSERT INTO usage_log_heads (log, size, peaks) VALUES (65, 0, '');

CREATE TABLE log_heads (
  -- Place in the log of heads.
  position bigint PRIMARY KEY,
  log smallint NOT NULL CHECK (log BETWEEN 0 AND 64),
  size bigint NOT NULL CHECK (size > 0),
  root bytea NOT NULL,
  UNIQUE (log, size)
);
CREATE TRIGGER log_heads_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON log_heads
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE checkpoints (
  -- Of the log of heads.
  size bigint PRIMARY KEY CHECK (size > 0),
  -- The signed note as it is handed out, and the verifier key that it is checked with.
  note text NOT NULL,
  key text NOT NULL,
  signed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TRIGGER checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
