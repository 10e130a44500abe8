-- Old entries of the log of heads go; the hashes of those stay, by which everything in it is proved.
CREATE TABLE log_head_tiles (
  -- Its leaves are those at the positions from tile * 256 on.
  tile bigint PRIMARY KEY,
  leaves bytea NOT NULL CHECK (length(leaves) = 256 * 32)
);
CREATE TRIGGER log_head_tiles_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON log_head_tiles
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION refuse_lost_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM log_head_tiles WHERE tile = OLD.position / 256) THEN
    RAISE EXCEPTION 'the hash of head % is kept nowhere else', OLD.position;
  END IF;
  RETURN OLD;
END
$$;
DROP TRIGGER log_heads_append_only ON log_heads;
CREATE TRIGGER log_heads_append_only BEFORE UPDATE OR TRUNCATE ON log_heads
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_heads_kept BEFORE DELETE ON log_heads FOR EACH ROW EXECUTE FUNCTION refuse_lost_head();

CREATE FUNCTION refuse_last_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM checkpoints WHERE size > OLD.size) THEN
    RAISE EXCEPTION 'the last checkpoint is kept';
  END IF;
  RETURN OLD;
END
$$;
DROP TRIGGER checkpoints_append_only ON checkpoints;
CREATE TRIGGER checkpoints_append_only BEFORE UPDATE OR TRUNCATE ON checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_kept BEFORE DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION refuse_last_checkpoint();
