-- The outbox of what the proxies have to be told of keys: hashes whose record they must not use any longer. A row is
-- written by the transaction of the change itself, so that no change is forgotten when control dies after its commit.
CREATE TABLE key_changes (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text NOT NULL
);

-- A key, with the sub-keys that are bound by it.
CREATE FUNCTION note_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash)
    SELECT OLD.hash
    UNION SELECT NEW.hash
    UNION SELECT hash FROM api_keys WHERE platform_key_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER key_changed AFTER UPDATE ON api_keys FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION note_key_change();

CREATE FUNCTION note_agent_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash) SELECT hash FROM api_keys WHERE account_id = NEW.id AND revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER agent_changed AFTER UPDATE ON agents FOR EACH ROW
  WHEN (OLD.request_cap_units IS DISTINCT FROM NEW.request_cap_units
    OR OLD.approval_threshold_units IS DISTINCT FROM NEW.approval_threshold_units)
  EXECUTE FUNCTION note_agent_change();

-- The settings of an account go for its keys and for those of its agents.
CREATE FUNCTION note_settings_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash)
    SELECT hash FROM api_keys
    WHERE revoked_at IS NULL
      AND (account_id = NEW.account_id OR account_id IN (SELECT id FROM agents WHERE owner_id = NEW.account_id));
  RETURN NULL;
END $$;
CREATE TRIGGER settings_changed AFTER INSERT OR UPDATE ON account_settings FOR EACH ROW
  EXECUTE FUNCTION note_settings_change();
