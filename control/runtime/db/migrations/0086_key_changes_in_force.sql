-- Of the sub-keys of a key only those that are not revoked: a revoked one is refused whatever its platform key says, and a
-- platform that makes and revokes many would have them all announced with each of its own changes.
CREATE OR REPLACE FUNCTION note_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash)
    SELECT OLD.hash
    UNION SELECT NEW.hash
    UNION SELECT hash FROM api_keys WHERE platform_key_id = NEW.id AND revoked_at IS NULL;
  RETURN NULL;
END $$;
