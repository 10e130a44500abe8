-- The records of keys name the open series of which their accounts hold tokens, and stay until a change of them is announced.
CREATE OR REPLACE FUNCTION note_series_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash)
    SELECT hash FROM api_keys
    WHERE revoked_at IS NULL AND account_id IN (SELECT account_id FROM lock_holdings WHERE series_id = NEW.id AND NOT is_dropped);
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER series_changed AFTER UPDATE OF state ON lock_series FOR EACH ROW
  WHEN ((OLD.state = 'open') <> (NEW.state = 'open')) EXECUTE FUNCTION note_series_change();
