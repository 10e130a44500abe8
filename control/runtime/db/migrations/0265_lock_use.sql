-- Tokens of compute locks that requests have burnt: the series ('' for none), units at the locked price, and micro-tokens.
-- charge_units does not have them. The layout of leaves that has them is the third; see control/book/usagelog/leafText.ts.
ALTER TABLE receipts
  ADD COLUMN lock_series text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN lock_units bigint NOT NULL DEFAULT 0,
  ADD COLUMN lock_micros bigint NOT NULL DEFAULT 0;
ALTER TABLE receipts DROP CONSTRAINT receipts_leaf_layout_check;
ALTER TABLE receipts ADD CONSTRAINT receipts_leaf_layout_check CHECK (leaf_layout IN (1, 2, 3));
-- For the audit.
CREATE INDEX receipts_burnt ON receipts (request_id) WHERE lock_units > 0;

-- What a month that was put away had burnt, by series.
CREATE TABLE archived_lock_uses (
  month text COLLATE "C" NOT NULL,
  lock_series text COLLATE "C" NOT NULL,
  units bigint NOT NULL,
  PRIMARY KEY (month, lock_series)
);

-- The keys of an account burn tokens from when it holds some until it holds none: their records say so. Its agents have
-- accounts of their own.
CREATE FUNCTION note_holding_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash)
    SELECT hash FROM api_keys WHERE account_id = NEW.owner AND revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER holding_changed AFTER UPDATE ON ledger_accounts FOR EACH ROW
  WHEN (NEW.kind = 'lock' AND (OLD.balance > 0) <> (NEW.balance > 0))
  EXECUTE FUNCTION note_holding_change();
