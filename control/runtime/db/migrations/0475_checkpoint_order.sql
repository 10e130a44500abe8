-- Each checkpoint names the one before it, and the greatest size that was forgotten is noted, so that none is missing unseen.
-- Checkpoints of before have no such name.
ALTER TABLE checkpoints ADD COLUMN size_before bigint;
CREATE TABLE checkpoints_forgotten (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Of the log of heads; all checkpoints up to this one are gone.
  size bigint NOT NULL
);

CREATE FUNCTION name_checkpoint_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Nothing is before the first one there ever was.
  NEW.size_before := coalesce((SELECT max(size) FROM checkpoints WHERE size < NEW.size), 0);
  RETURN NEW;
END
$$;
CREATE TRIGGER checkpoints_in_order BEFORE INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION name_checkpoint_before();

CREATE FUNCTION note_forgotten_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO checkpoints_forgotten (size) VALUES (OLD.size)
    ON CONFLICT (one) DO UPDATE SET size = greatest(checkpoints_forgotten.size, excluded.size);
  RETURN NULL;
END
$$;
CREATE TRIGGER checkpoints_forgotten AFTER DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION note_forgotten_checkpoint();
